# The versions of the tools; go run builds them once and keeps them.
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONLINT    := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# How long `make fuzz` spends on each target.
FUZZTIME ?= 20s
# More flags for go test: make test TESTFLAGS=-v
TESTFLAGS ?=
# How many random scenarios `make soak` tries.
SOAK ?= 1000

.DEFAULT_GOAL := help

.PHONY: help
help: ## show what there is to make
	@awk 'BEGIN {FS = ":.*## "} /^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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
bench: ## the benchmarks
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: soak
soak: ## SOAK random scenarios of the reference, from a fixed seed: none may fail
	go run ./cmd/outboxtest run polling --sweep=false --explore-trials $(SOAK) --seed 1

.PHONY: build
build: ## the command, as ./outboxtest
	go build -o outboxtest ./cmd/outboxtest
