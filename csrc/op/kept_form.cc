#include "op/kept_form.h"

namespace dygraph {
namespace {

thread_local KeptForm* g_kept_form = nullptr;

}  // namespace

KeptForm* KeptForm::Current() { return g_kept_form; }

KeptForm::Beside::Beside(KeptForm* form) : before_(std::exchange(g_kept_form, form)) {}
KeptForm::Beside::~Beside() { g_kept_form = before_; }

}  // namespace dygraph
