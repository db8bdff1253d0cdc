# The versions of the tools; go run builds them once and keeps them.
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONLINT    := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# How long `make fuzz` spends on each target.
FUZZTIME ?= 20s
# More flags for go test: make test TESTFLAGS=-v
TESTFLAGS ?=
# How many random scenarios of each reference `make soak` tries, and their seed.
SOAK ?= 5000
SEED ?= 1
# How many trials `make flat` runs.
FLAT ?= 2000

.DEFAULT_GOAL := help

.PHONY: help
help: ## show what there is to make
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## the main job: ten broken outboxes are convicted, a correct one is acquitted
	go run ./cmd/outboxtest demo

.PHONY: test
test: ## vet, and all tests with the race detector, on real servers
	go vet ./...
	go test -race -timeout 15m $(TESTFLAGS) ./...

.PHONY: lint
lint: ## the linters of .golangci.yml, and actionlint on the workflows
	go run $(GOLANGCI_LINT) run
	go run $(ACTIONLINT)

.PHONY: fuzz
fuzz: ## fuzz every decoder and file format for FUZZTIME each
	@set -e; for file in $$(grep -rl --include='*_test.go' '^func Fuzz' . | sort); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$file); do \
			echo "$$(dirname $$file) $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$(dirname $$file); \
		done; \
	done

.PHONY: bench
bench: ## the benchmarks of speed, as ratios: docs/benchmarks.md says what they mean
	@echo '== One operation: decoders, processes, our toxic'
	go test -run '^$$' -bench . -benchmem ./faults/proc ./faults/wire/pgwire ./faults/wire/natswire
	go test -run '^$$' -bench Query -benchmem ./faults/wire
	@echo '== A proxy: ours against a stock Toxiproxy and none'
	go test -run '^$$' -bench 'RoundTrip|Rows|Pgbench' -benchtime 1x -timeout 1h ./faults/wire
	@echo '== A trial: through our proxies against a stock Toxiproxy and none'
	go test -run '^$$' -bench Proxies -benchtime 1x -timeout 1h ./harness
	@echo '== Trials: the harness against the floor'
	go test -run '^$$' -bench Floor -benchtime 1x -timeout 1h ./harness
	@echo '== Where the time of a trial goes'
	go test -run '^$$' -bench Phases -benchtime 1x -timeout 1h ./harness
	@echo '== The sweep against the number of orders'
	go test -run '^$$' -bench Growth -benchtime 1x -timeout 1h ./harness
	@echo '== Trials to the first violation: make bench-search, which takes longer than all of this'

.PHONY: bench-search
bench-search: ## how many trials until each mutant is caught: sweep, random moments, random times
	go test -run '^$$' -bench Search -benchtime 1x -timeout 12h ./harness

.PHONY: soak
soak: ## every reference swept, and SOAK random scenarios of it from SEED: all must pass
	@set -e; references=$$(go run ./cmd/outboxtest list --json - 2>/dev/null | awk -F '"' \
		'$$2 == "name" {name = $$4} $$2 == "expected" && $$4 == "pass" {print name}'); \
	[ -n "$$references" ] || { echo "outboxtest list names no reference"; exit 1; }; \
	status=0; for reference in $$references; do \
		echo "$$reference: a sweep and $(SOAK) random scenarios of seed $(SEED)"; \
		go run ./cmd/outboxtest run $$reference --explore-trials $(SOAK) --seed $(SEED) || status=1; \
	done; exit $$status

.PHONY: flat
flat: ## a run of FLAT trials: memory, goroutines, files, processes and databases must not grow
	OUTBOXTEST_FLAT_TRIALS=$(FLAT) go test -count=1 -v -timeout 60m -run '^TestALongRunIsFlat$$' ./harness

.PHONY: busy
busy: ## the main job while every processor is busy with two other things: the verdicts are the same
	@go build -o /dev/null ./cmd/outboxtest; \
	n=$$((2 * $$(getconf _NPROCESSORS_ONLN))); i=0; spinners=; \
	trap 'kill $$spinners' EXIT; trap 'exit 130' INT TERM; \
	while [ $$i -lt $$n ]; do \
		while kill -0 $$$$ 2>/dev/null; do :; done & \
		spinners="$$spinners $$!"; i=$$((i + 1)); \
	done; \
	echo "$$n processes spin"; \
	go run ./cmd/outboxtest demo

.PHONY: build
build: ## the command, as ./outboxtest
	go build -o outboxtest ./cmd/outboxtest
