"""Levels of detail: which output takes those of which input, as the program's declarations say."""

from dygraph.codegen import registry

registry.function(
    "share_lod",
    """
/* Offsets of x for y, whose rows are those of x. */
static int share_lod(Ctx *c, const Value *x, Value *y) {
  if (!x->set || !y->set || !x->lod || y->lod || x == y) return PREFIX_OK;
  if (x->rank == 0 || y->rank == 0 || x->dims[0] != y->dims[0]) return PREFIX_OK;
  ++NODE(x->lod->node).users;
  y->lod = x->lod;
  return PREFIX_OK;
}
""",
)

OWN: set = set()  # operators whose emitters set the level of detail themselves


def own_lod(*types):
    OWN.update(types)


def pass_lod(e, call):
    """After a call: outputs that are declared with levels take those of an input."""
    if call.type in OWN or call.info["runs_block"]:
        return
    sources = [s for name in call.info["shares_lod_of"] for s in call.inputs(name)]
    for slot in call.op.output_names:
        for out in call.outputs(slot):
            if out.kind != "tensor" or not getattr(out.var, "lod_level", 0):
                continue
            for source in sources:
                if source.kind == "tensor" and getattr(source.var, "lod_level", 0):
                    e.call("share_lod", e.ref(source), e.ref(out))
