# What one does with this repository. The targets are described in README.md.

GO          ?= go
KAFKA       ?= 4.4.0
SEED        ?= 44001
FUZZTIME    ?= 10s
GOTESTFLAGS ?=
RUNFLAGS    ?=
BENCHFLAGS  ?=

BIN     := bin
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION)

# All packages; those written by hand are tested under the race detector, the
# generated one without: it has no goroutines, and much code.
GENERATED    := ./generated/...
HAND_WRITTEN  = $(shell $(GO) list ./... | grep -v '/generated$$')

.DEFAULT_GOAL := build
.PHONY: build run test lint schemas generate vectors conformance bench-codec bench-bridge bench-engine bench-groups bench-txn fuzz clean

build:
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/...

# The bridge on its embedded engine in ./data, Kafka on 127.0.0.1:9093.
run: build
	./$(BIN)/kafka-iggy-bridge $(RUNFLAGS)

# The second run of the packages that handle frames fills released frames with
# rubbish, so that a view that was kept too long shows.
test:
	$(GO) test -race $(GOTESTFLAGS) $(HAND_WRITTEN)
	$(GO) test $(GOTESTFLAGS) $(GENERATED)
	$(GO) test -tags framepoison $(GOTESTFLAGS) ./internal/server/... ./handlers/...

lint:
	@unformatted="$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l)"; \
	if [ -n "$$unformatted" ]; then echo "not formatted with gofmt:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags framepoison ./internal/server/... ./handlers/...
	$(GO) tool staticcheck ./...

# The facts of another Kafka release. Then: make generate vectors, and read the diff.
schemas:
	$(GO) run ./gen/cmd/fetch-schemas -kafka $(KAFKA) -out schemas

generate:
	$(GO) generate ./...

# Test vectors from the classes of the Kafka release, by our program in gen/oracle.
vectors:
	./gen/oracle/run $(KAFKA) $(SEED) testdata/codec

# Real clients in Java, C, Python and JavaScript against the built binary.
conformance: build
	./testdata/conformance/run

bench-codec:
	$(GO) run ./internal/benchmarks/codec

bench-bridge: build
	$(GO) run ./internal/benchmarks/bridge -binary $(BIN)/kafka-iggy-bridge

# The embedded engine through Iggy's SDK; beside a real server when IGGY_ADDRESS,
# IGGY_USERNAME and IGGY_PASSWORD are set.
bench-engine: build
	$(GO) run ./internal/benchmarks/engine -binary $(BIN)/kafka-iggy-bridge

# Consumer groups. 5,000 members are 5,000 connections: mind ulimit -n. Some of it
# alone: BENCHFLAGS='-only commits,load'.
bench-groups: build
	$(GO) run ./internal/benchmarks/groups -binary $(BIN)/kafka-iggy-bridge $(BENCHFLAGS)

# Idempotence and transactions. On a machine that has other things to do:
# BENCHFLAGS='-rounds 3 -records 50000 -commits 100 -rebuild-records 100000'.
bench-txn: build
	$(GO) run ./internal/benchmarks/transactions -binary $(BIN)/kafka-iggy-bridge $(BENCHFLAGS)

# Every fuzz target for FUZZTIME, one after the other.
fuzz:
	@set -e; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "fuzz $$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

clean:
	rm -rf $(BIN) build
