// The passes over the plan of a program. They do not change the bits of results.
#pragma once

#include <vector>

#include "execute/plan.h"

namespace dygraph::program {

void RunPlanPasses(Plan& plan);

// A file each, in execute/passes/.
void FuseBatchNorms(Plan& plan);
void JoinEpilogues(Plan& plan);
void FindLastUses(Plan& plan);
void FindSpentInputs(Plan& plan);
void FindSpentAdditions(Plan& plan);
void FindKeptWeights(Plan& plan);
void FindUpdates(Plan& plan);
void FindChains(Plan& plan);

// Whether an operator takes a variable that it reads for its sizes alone, wherever it takes it.
bool ReadsSizesAlone(const PlanOp& op, int slot);

// Batch normalisation that only maps X to Y, by running statistics.
bool HasFixedStatistics(const Plan& plan, const PlanOp& norm, const std::vector<int>& readers);

}  // namespace dygraph::program
