// Checks a program's structure before anything runs it. What needs the operator registry (known
// types, slots, attribute checks) is checked where operators are created.
#pragma once

#include "program/desc.h"

namespace dygraph::program {

// In this order, throwing at the first fault:
//   Format         no block; a block's idx is not its place; block 0 has a parent, another has none
//                  that exists; parents form a cycle or nest deeper than kMaxNesting
//   AlreadyExists  two variables of one block, or two attributes or slots of one operator, share a
//                  name
//   Format         a variable's sizes cannot be multiplied in 64 bits
//   OutOfRange     a BLOCK or BLOCKS attribute, or forward_block_idx, names no block it may name
//   Format         two attributes name the same sub-block, or sub-blocks contain each other
//   NotFound       an operator reads a variable that neither its block nor an outer one declares
void Verify(const ProgramDesc& program);

}  // namespace dygraph::program
