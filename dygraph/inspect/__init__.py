"""What shows values, graphs and calls: text, HTML, pictures, kept values, callers."""
