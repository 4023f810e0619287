# Brine's daily verbs. `make help` lists them.
GO       ?= go
BIN      ?= bin
VERSION  ?= $(shell sh scripts/version.sh)
LDFLAGS  := -s -w -X github.com/brineproject/brine/version.number=$(VERSION)
TAGS     ?= urfave_cli_no_docs
FLAGS    := -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)'
# Test binaries without debugger's tables link a third faster.
TESTFLAGS := -vet=off -ldflags=-w
FUZZTIME ?= 30s
PROGRAMS := $(notdir $(wildcard cmd/salt*))
ARCH     ?= $(shell $(GO) env GOARCH)
DIST     ?= dist
ROLE     ?= minion
comma    := ,
LINTER   := $(GO) tool -modfile=scripts/lint/go.mod golangci-lint

export CGO_ENABLED = 0

.PHONY: help build small test short race vet lint fuzz bench coverage capture cross dist deb rpm rootfs demo golden screenshots generate clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z ]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build all programs into bin/
	@mkdir -p $(BIN)
	$(GO) build $(FLAGS) -o $(BIN)/ ./cmd/...

# Without inlining a program is a tenth smaller.
small: ## build a small minion for ARCH (arm7, amd64 …) with the build tags in WITH (docker,x509 …) into dist/
	GOOS=linux GOARCH=$(if $(filter arm%,$(filter-out arm64,$(ARCH))),arm,$(ARCH)) GOARM=$(patsubst arm%,%,$(filter arm6 arm7,$(ARCH))) $(GO) build -trimpath -gcflags=all=-l \
	  -tags '$(TAGS),small$(addprefix $(comma),$(WITH))' -ldflags '$(LDFLAGS)' -o $(DIST)/linux-$(ARCH)/salt-minion-small ./cmd/salt-minion

test: ## run all tests
	$(GO) vet ./...
	$(GO) test $(TESTFLAGS) -timeout 30m ./...

short: ## run the tests without those that take long
	$(GO) test $(TESTFLAGS) -short -timeout 5m ./...

race: ## run all tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -vet=off -race -timeout 60m ./...

vet: ## check format, vet and module files
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "gofmt would change: $$unformatted"; exit 1; }
	$(GO) vet ./...
	GOOS=windows $(GO) vet ./cmd/salt-minion ./cmd/salt-call
	GOOS=darwin $(GO) vet ./cmd/salt-minion ./cmd/salt-call
	$(GO) mod tidy -diff
	$(GO) mod verify
	@cd packaging/nfpm && if $(GO) list -deps . > /dev/null 2>&1; then $(GO) vet . && $(GO) mod verify; \
	else echo "packaging/nfpm is not vetted: its modules cannot be had"; fi

lint: vet ## run vet, and the linters of .golangci.yml, which are built first
	$(LINTER) run ./...

fuzz: ## run each fuzz target for FUZZTIME (30s)
	@$(GO) list -f '{{$$p := .ImportPath}}{{range .TestGoFiles}}{{$$p}} {{$$.Dir}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$$p}} {{$$.Dir}}/{{.}}{{"\n"}}{{end}}' ./... | \
	while read -r pkg file; do \
	  for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
	    echo "== $$pkg $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s "$$pkg" < /dev/null || exit 1; \
	  done; \
	done

bench: ## run all benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

coverage: ## say which share of the states that users write is there; with TREES=dir, what the trees below dir miss
	$(GO) run ./internal/test/coverage $(if $(TREES),-trees '$(TREES)')

cross: ## build for every platform that is supported, and print the sizes
	@sh scripts/cross.sh "$(GO)" '$(LDFLAGS)' '$(TAGS)'

dist: ## write an archive for each platform into dist/, the same to the byte for the same commit
	@sh scripts/dist.sh "$(GO)" '$(VERSION)' '$(LDFLAGS)' '$(TAGS)' $(DIST) $(PLATFORMS)

deb rpm: ## write packages for ARCH (amd64, arm64, arm7 …) into dist/
	@GOOS=linux GOARCH=$(if $(filter arm%,$(filter-out arm64,$(ARCH))),arm,$(ARCH)) GOARM=$(patsubst arm%,%,$(filter arm6 arm7,$(ARCH))) $(GO) build $(FLAGS) -o $(DIST)/linux-$(ARCH)/ ./cmd/...
	@sh scripts/packages.sh $@ "$(GO)" '$(VERSION)' $(ARCH) $(DIST)/linux-$(ARCH) $(DIST)

rootfs: build ## put the root of the container image of ROLE (master, api, syndic or minion) into dist/rootfs-ROLE
	@sh scripts/rootfs.sh "$(GO)" $(ROLE) $(BIN) $(DIST)/rootfs-$(ROLE)

demo: build ## start a master and two minions, and give them orders
	@sh scripts/demo.sh $(BIN)

capture: ## renew the answers in the calls.json of FILES (all) from the salt-call that SALT names
	@[ -n "$(SALT)" ] || { echo "make capture SALT=/path/to/salt-call [FILES=modules/file/testdata/calls.json] [NAMES='-name OUT=/tmp/out']"; exit 1; }
	$(GO) run ./internal/test/capture -salt "$(SALT)" $(NAMES) $(or $(FILES),$(wildcard modules/*/testdata/calls.json))

golden: ## renew the golden files of all tests; read the difference before you commit it
	$(GO) test ./... -update

screenshots: ## make the pictures of the console in docs/images anew (needs Chromium)
	BRINE_SCREENSHOTS=$(CURDIR)/docs/images $(GO) test -count=1 -run '^TestImages$$' ./console

generate: ## make the generated files anew
	$(GO) generate ./...

clean: ## remove what was built
	rm -rf $(BIN) dist
