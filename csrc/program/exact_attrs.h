// FLOAT attributes of operators on float64, which keep doubles (AttrField::is_double). In memory
// such an attribute holds a double where no float is that number. A file has the nearest float, for
// Fluid and Paddle, and behind it a string with all digits: epsilon: 1e-5, 'epsilon@float64':
// "1e-05". Other operators compute in floats and keep floats.
#pragma once

#include "program/program.h"

namespace dygraph::program {

// Rounds doubles to floats unless a variable of the operator is of float64, or of a type that the
// block does not know.
void RoundUnlessFloat64(const Block& block, OpDesc* op);

// After reading: joins each float with its digits. A string that does not fit its float stays, and
// ReadAttrs refuses it.
void JoinExact(ProgramDesc* program);
// Before writing: parts them again. Operators whose variables are known to be of other types than
// float64 get floats alone.
bool HasExact(const OpDesc& op);
OpDesc SplitExact(OpDesc op);
BlockDesc SplitExact(BlockDesc block);
ProgramDesc SplitExact(ProgramDesc program);

}  // namespace dygraph::program
