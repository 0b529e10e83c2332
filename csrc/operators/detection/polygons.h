// Intersection over union of polygons, which are given by their corners x, y, x, y, ...
#pragma once

#include "operators/detection/boxes.h"

namespace dygraph::polygons {

struct Point {
  double x, y;
};

// Twice the area of a triangle, positive where its corners go round against the clock.
inline double Turn(Point a, Point b, Point c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

template <class T>
Point Corner(const T* p, int64_t i) {
  return {static_cast<double>(p[2 * i]), static_cast<double>(p[2 * i + 1])};
}

// The signed area: that of the triangles from the first corner.
template <class T>
double Area(const T* p, int64_t corners) {
  double twice = 0;
  for (int64_t i = 1; i + 1 < corners; ++i)
    twice += Turn(Corner(p, 0), Corner(p, i), Corner(p, i + 1));
  return twice / 2;
}

// The area that two triangles share, by cutting one along the sides of the other. Their corners go
// round against the clock.
inline double Shared(const Point (&a)[3], const Point (&b)[3]) {
  Point points[12] = {a[0], a[1], a[2]}, cut[12];
  int count = 3;
  for (int side = 0; side < 3; ++side) {
    const Point from = b[side], to = b[(side + 1) % 3];
    int kept = 0;
    for (int i = 0; i < count; ++i) {
      const Point p = points[i], q = points[(i + 1) % count];
      const double dp = Turn(from, to, p), dq = Turn(from, to, q);
      if (dp >= 0) cut[kept++] = p;
      if ((dp > 0 && dq < 0) || (dp < 0 && dq > 0)) {
        const double part = dp / (dp - dq);
        cut[kept++] = {p.x + part * (q.x - p.x), p.y + part * (q.y - p.y)};
      }
    }
    std::copy_n(cut, kept, points);
    count = kept;
  }
  double twice = 0;
  for (int i = 1; i + 1 < count; ++i) twice += Turn(points[0], points[i], points[i + 1]);
  return twice / 2;
}

// A polygon is the sum of the triangles from its first corner, each with the sign of its turn, also
// where it is not convex; so the shared area is a sum over pairs of triangles.
template <class T>
double SharedArea(const T* a, const T* b, int64_t corners) {
  double area = 0;
  for (int64_t i = 1; i + 1 < corners; ++i) {
    Point one[3] = {Corner(a, 0), Corner(a, i), Corner(a, i + 1)};
    const double sign = Turn(one[0], one[1], one[2]);
    if (sign < 0) std::swap(one[1], one[2]);
    for (int64_t j = 1; sign != 0 && j + 1 < corners; ++j) {
      Point two[3] = {Corner(b, 0), Corner(b, j), Corner(b, j + 1)};
      const double other = Turn(two[0], two[1], two[2]);
      if (other < 0) std::swap(two[1], two[2]);
      if (other != 0) area += Shared(one, two) * (sign * other < 0 ? -1 : 1);
    }
  }
  return std::abs(area);
}

// Of boxes (4 numbers) or polygons (more).
template <class T>
T Overlap(const T* a, const T* b, int64_t size, T unit) {
  if (size == 4) return boxes::Overlap(boxes::Box<T>::At(a), boxes::Box<T>::At(b), unit);
  const double one = std::abs(Area(a, size / 2)), two = std::abs(Area(b, size / 2));
  const double both = SharedArea(a, b, size / 2);
  if (one == 0 || two == 0 || both == 0) return T(0);
  return static_cast<T>(both / (one + two - both));
}

}  // namespace dygraph::polygons
