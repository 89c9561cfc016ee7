# The commands of a working day. `make help` lists them.

GO        ?= go
BIN       := bin/weir
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS   := -s -w -X main.version=$(VERSION)
FUZZTIME  ?= 60s
KILLS     ?= 300
MODULES   ?= 100000
export CGO_ENABLED ?= 0

.PHONY: help build run test race lint fuzz fuzz-short bench bench-filter interop interop-suite e2e crash hostile clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

build: ## build bin/weir, one static binary
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/weir

run: build ## build and run a broker with its name server (data in ./data)
	./$(BIN)

test: ## every test: units, Go and Java clients, crash loops (needs Java 17 and Maven, else those are skipped)
	$(GO) vet ./...
	$(GO) test -p 2 -timeout 25m ./...
	cd test/e2e/goclient && $(GO) vet ./...

race: ## the unit tests under the race detector
	CGO_ENABLED=1 $(GO) test -race -timeout 20m $$($(GO) list ./... | grep -v /test/)

lint: ## formatting, vet, staticcheck, golangci-lint
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "gofmt: the files above"; exit 1; }
	golangci-lint run ./...

fuzz: ## every fuzz target for FUZZTIME (60s) each
	./test/fuzz $(FUZZTIME)

fuzz-short: ## every fuzz target for 5 s each
	./test/fuzz 5s

bench: build ## throughput beside the Java 4.9.7 broker, in one run (BENCH="--only drain --no-java" passes flags)
	./test/bench/run $(BENCH)

bench-filter: build ## filters beside the Java 4.9.7 broker, and each engine alone (BENCH="--messages 10000000" is the full run)
	./test/bench/run filters $(BENCH)
	$(GO) test -run '^$$' -bench 'Match' ./plugins/filter/sql92
	$(GO) test -run '^$$' -bench . ./plugins/filter/wasm

interop: build ## Java clients, tools and brokers against weir
	WEIR_REQUIRE_ALL=1 WEIR_BIN=$(CURDIR)/$(BIN) $(GO) test -v -count 1 -timeout 20m ./test/interop/...

interop-suite: build ## RocketMQ's own integration tests on two brokers (SUITE="-java" also on Java's, to compare)
	WEIR_REQUIRE_ALL=1 WEIR_BIN=$(CURDIR)/$(BIN) $(GO) test -v -count 1 -timeout 40m -run TestSuite ./test/suite -args $(SUITE)

e2e: build ## the Go client against weir
	WEIR_BIN=$(CURDIR)/$(BIN) $(GO) test -v -count 1 -timeout 15m ./test/e2e/...

crash: build ## kill -9 loops: KILLS (300) in each flush mode
	WEIR_KILLS=$(KILLS) WEIR_BIN=$(CURDIR)/$(BIN) $(GO) test -v -count 1 -timeout 120m ./test/crash/...

hostile: build ## hostile modules, and MODULES (100000) generated ones, at a running broker
	WEIR_MODULES=$(MODULES) WEIR_BIN=$(CURDIR)/$(BIN) $(GO) test -v -count 1 -timeout 6h ./test/hostile/...
	WEIR_FUEL_MODULES=$(MODULES) $(GO) test -v -count 1 -timeout 2h -run TestSameResults ./plugins/internal/fuel
	$(GO) test -v -count 1 -run TestMeteredAlike ./plugins/filter/wasm

clean: ## remove what was built
	rm -rf bin
