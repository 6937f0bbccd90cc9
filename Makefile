PYTHON ?= python3
SHARED ?= ../shared/data
DATA ?= $(SHARED)/corel1k
WIKIPEDIA ?= $(SHARED)/wikipedia_crossmodal
PUBFIG ?= $(SHARED)/pubfig_relattr
MERGED ?= $(SHARED)/merged20
MODELS ?= ../shared/models
OUT ?= bench-out
BIN := .venv/bin
# A process of tests on each core, each with one thread for its sums. Each begins with tests that stand together, which
# share what they build; and what is compiled is kept, for all processes.
PYTEST := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n auto --dist worksteal
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check
READY := .venv/.ready
VENV := apt-get update -q && apt-get install -yq python3-venv
TOOLS := .venv/.tools

.PHONY: setup demo test test-all test-some explore coverage docs site-versions lint proto bench figures peers stores engines lock sbom release-check clean

# What a user needs, and no more; the other targets add the tools of development, once.
setup: $(READY)

$(READY): pyproject.toml requirements/user.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "crossview needs Python 3.11 or newer; choose one with PYTHON=..."; exit 1; }
	@# Debian keeps what venv needs in a package of its own.
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { S=$$([ "$$(id -u)" = 0 ] || echo sudo); $$S sh -c '$(VENV)'; } || \
		{ echo "crossview needs Python's venv. Run as root: $(VENV)"; exit 1; }
	@# An environment keeps the Python that it was made with; make clean removes it.
	$(BIN)/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear .venv
	$(PIP) --no-deps --require-hashes -r requirements/user.txt
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(TOOLS): $(READY) requirements/dev.txt
	$(PIP) --no-deps --require-hashes -r requirements/dev.txt
	@touch $@

demo: setup
	rm -rf demo-out
	$(BIN)/crossview demo --keep --out demo-out

test: $(TOOLS)
	$(PYTEST) -m "not long"

# Everything; it runs before an issue is closed. REPORT writes the seconds of each test, which tools/test_seconds.py reads.
test-all: $(TOOLS) peers engines
	$(PYTEST) $(if $(REPORT),--junitxml $(REPORT))

# A quarter of the long tests, chosen by the commit, and those of the rooms that the newest day's commits touch.
test-some: $(TOOLS)
	$(BIN)/python tools/some_tests.py > .venv/some-tests
	$(PYTEST) -m long $$(cat .venv/some-tests)

# The random tests, with new seeds until the time ends.
MINUTES ?= 30
explore: $(TOOLS)
	$(BIN)/python tools/explore.py --minutes $(MINUTES)

# All tests, with the branches of every condition that they take; below the limit in pyproject.toml it fails.
coverage: $(TOOLS)
	$(PYTEST) --cov --cov-report=term

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/vulture
	$(BIN)/codespell
	$(BIN)/python tools/house.py --check
	$(BIN)/python tools/words.py
	$(BIN)/python tools/style.py
	$(BIN)/python -m pytest -q tests/test_architecture.py

docs: $(TOOLS)
	rm -rf site
	$(BIN)/python -m sphinx -q -E -W --keep-going docs site

# The site of main and of each tag that has one, with a menu of versions.
site-versions: $(TOOLS)
	$(BIN)/python tools/site_versions.py

proto: $(TOOLS)
	$(BIN)/python tools/proto.py

peers: .venv-peers/.ready

.venv-peers/.ready: requirements/peers.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r $<
	@touch $@

# Other stores and indexes of vectors, about 1.2 GB; only the benchmarks store and scale need them.
stores: .venv-stores/.ready

.venv-stores/.ready: benchmarks/store/constraints.txt
	$(PYTHON) -m venv .venv-stores
	.venv-stores/bin/python -m pip install -q --disable-pip-version-check -r benchmarks/store/constraints.txt
	@touch $@

# A Milvus server, about 400 MB, to which long tests publish; without it they skip.
engines: .venv-engines/.ready

.venv-engines/.ready: requirements/engines.txt
	$(PYTHON) -m venv .venv-engines
	.venv-engines/bin/python -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r $<
	@# The server unpacks its program into the folder of its data, unless it is there.
	.venv-engines/bin/python -c 'import milvus; milvus._initialize_data_files(".venv-engines/milvus")'
	@touch $@

bench: $(TOOLS) peers stores
	mkdir -p $(OUT)
	$(BIN)/python -m benchmarks extract --data $(DATA) --json $(OUT)/extract.json
	$(BIN)/python -m benchmarks model-speed --data $(DATA) --models $(MODELS) --json $(OUT)/model-speed.json --report $(OUT)/model-speed
	$(BIN)/python -m benchmarks storage --data $(DATA) --json $(OUT)/storage.json
	$(BIN)/python -m benchmarks multi-npp --data $(DATA) --trials 10 --json $(OUT)/multi-npp.json --report $(OUT)/multi-npp
	$(BIN)/python -m benchmarks wikipedia --data $(WIKIPEDIA) --json $(OUT)/wikipedia.json --report $(OUT)/wikipedia
	$(BIN)/python -m benchmarks npp-scale --json $(OUT)/npp-scale.json --report $(OUT)/npp-scale
	$(BIN)/python -m benchmarks learner-speed --json $(OUT)/learner-speed.json --report $(OUT)/learner-speed
	$(BIN)/python -m benchmarks learner-speed --busy 2 --json $(OUT)/learner-speed-busy.json --report $(OUT)/learner-speed-busy
	$(BIN)/python -m benchmarks fantope-toy --json $(OUT)/fantope-toy.json --report $(OUT)/fantope-toy
	$(BIN)/python -m benchmarks verification --data $(SHARED) --json $(OUT)/verification.json --report $(OUT)/verification
	$(BIN)/python -m benchmarks attributes-lmnn --data $(PUBFIG) --json $(OUT)/attributes-lmnn.json --report $(OUT)/attributes-lmnn
	$(BIN)/python -m benchmarks hashing --data $(SHARED) --json $(OUT)/hashing.json --report $(OUT)/hashing
	$(BIN)/python -m benchmarks musl --data $(MERGED) --json $(OUT)/musl.json --report $(OUT)/musl
	$(BIN)/python -m benchmarks musl --data $(DATA) --json $(OUT)/musl-corel.json --report $(OUT)/musl-corel
	$(BIN)/python -m benchmarks hamming-speed --json $(OUT)/hamming-speed.json --report $(OUT)/hamming-speed
	$(BIN)/python -m benchmarks near-pairs --json $(OUT)/near-pairs.json --report $(OUT)/near-pairs
	$(BIN)/python -m benchmarks store --json $(OUT)/store.json --report $(OUT)/store
	$(BIN)/python -m benchmarks scale --json $(OUT)/scale.json --report $(OUT)/scale
	$(BIN)/python -m benchmarks serve-speed --json $(OUT)/serve-speed.json --report $(OUT)/serve-speed
	$(BIN)/python -m benchmarks hostile --json $(OUT)/hostile.json --report $(OUT)/hostile
	$(BIN)/python -m benchmarks soak --json $(OUT)/soak.json --report $(OUT)/soak
	$(BIN)/python -m benchmarks page-speed --json $(OUT)/page-speed.json --report $(OUT)/page-speed
	$(BIN)/python -m benchmarks oracle --json $(OUT)/oracle.json --report $(OUT)/oracle
	$(BIN)/python -m benchmarks metric-speed --json $(OUT)/metric-speed.json --report $(OUT)/metric-speed
	$(BIN)/python -m benchmarks qwise-speed --json $(OUT)/qwise-speed.json --report $(OUT)/qwise-speed

# Figures of the documents, from benchmarks/results/*.json: copy there what bench wrote to be quoted.
figures: $(TOOLS)
	$(BIN)/python -m benchmarks figures

# Write the versions and hashes of all installed packages, from pyproject.toml: the newest that fit, on the oldest Python.
LOCK := .venv-lock/bin/uv pip compile --quiet --generate-hashes --universal --python-version 3.11.2 --no-header --no-annotate
lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install -q --disable-pip-version-check uv
	echo 'setuptools>=80' | $(LOCK) pyproject.toml - --extra dev -o requirements/dev.txt
	echo 'setuptools>=80' | $(LOCK) pyproject.toml - --extra engine --extra http -c requirements/dev.txt -o requirements/user.txt
	printf 'setuptools>=80\ns3fs>=2025.1\n' | $(LOCK) pyproject.toml - --extra engine --extra http --extra ray \
		-c requirements/dev.txt -o requirements/cluster.txt
	$(LOCK) pyproject.toml -c requirements/dev.txt -o requirements/client.txt
	$(LOCK) benchmarks/peers/constraints.txt -o requirements/peers.txt
	echo 'milvus==2.3.5' | $(LOCK) - -o requirements/engines.txt

# The bill of materials of what users install, in CycloneDX: each package with its version, its origin and its hashes.
SBOM := .venv-sbom/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --of JSON
sbom: .venv-sbom/.ready
	mkdir -p sbom
	PYTHONWARNINGS=ignore $(SBOM) -o sbom/user.json requirements/user.txt
	PYTHONWARNINGS=ignore $(SBOM) -o sbom/client.json requirements/client.txt

.venv-sbom/.ready:
	$(PYTHON) -m venv .venv-sbom
	.venv-sbom/bin/python -m pip install -q --disable-pip-version-check cyclonedx-bom==7.5.0
	@touch $@

# Build the source distribution and the wheel into DIST, and check what a release needs: tools/release.py lists the checks.
DIST ?= dist
release-check: $(READY) .venv-release/.ready
	.venv-release/bin/python tools/release.py --out $(DIST) --installed $(BIN)/python

.venv-release/.ready:
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install -q --disable-pip-version-check build==1.6.1 twine==7.0.0 cffconvert==2.0.0 \
		pip-licenses==5.5.5 'setuptools>=80'
	@touch $@

clean:
	rm -rf docs/architecture.md docs/changelog.md docs/contributing.md docs/reference/grpc docs/reference/python docs/reference/[!p]*.md
	rm -rf jupyter_execute .venv .venv-lock .venv-sbom .venv-release dist sbom .venv-peers .venv-stores .venv-engines build *.egg-info demo-out bench-out site .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis
