package minion

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// Executors call functions in the ways named by the option module_executors: direct_call, sudo,
// splay and users' own (salt/executors).
type Executors struct {
	Opts      *data.Map // options of the minion, with id, conf_file, sudo_user and splaytime
	Functions *loader.Registry
	Own       *loader.Registry // users' own: NAME.execute; nil for none
	// Alone means that the program is salt-call. Its executors get the arguments of the call where
	// those of a minion get the publication.
	Alone bool
}

// Names returns the executors named by a value of module_executors. It returns an error if the
// value is malformed or an executor is not available.
func (e Executors) Names(asked any) ([]string, error) {
	var names []string
	switch asked := asked.(type) {
	case nil:
		names = []string{"direct_call"}
	case string:
		names = []string{asked}
	case []any:
		for _, name := range asked {
			names = append(names, data.Str(name))
		}
	}
	if len(names) == 0 {
		return nil, loader.Invocation("Wrong executors specification: %s. String or non-empty list expected", data.Str(asked))
	}
	for _, name := range names {
		if !e.has(name) {
			return nil, loader.Invocation("Executor '%s' is not available", name)
		}
	}
	return names, nil
}

func (e Executors) has(name string) bool {
	return e.Own.Has(name+".execute") || name == "direct_call" || name == "splay" ||
		name == "sudo" && e.sudoUser() != "" && process.Find("sudo") != ""
}

func (e Executors) sudoUser() string {
	if v := e.Opts.Value("sudo_user"); data.Truth(v) {
		return data.Str(v)
	}
	return ""
}

// Call calls a function through executors returned by Names, in order, until one returns something
// other than nil. splay only waits. options is executor_opts of the job.
func (e Executors) Call(
	ctx context.Context, names []string, options any, fun string, arg []any, o loader.CallOptions,
) loader.Result {
	last := loader.Result{Success: true}
	for _, name := range names {
		if e.Own.Has(name + ".execute") {
			if last = e.own(ctx, name, options, fun, arg, o); last.Err != nil || last.Value != nil {
				return last
			}
			continue
		}
		switch name {
		case "direct_call":
			return e.Functions.Call(ctx, fun, arg, o)
		case "sudo":
			return e.sudo(ctx, fun, arg)
		case "splay":
			if err := e.splay(ctx, options); err != nil {
				return loader.Result{Value: fmt.Sprintf("The minion function caused an exception: %v", err), Retcode: 1, Out: "nested", Err: err}
			}
		}
	}
	return last
}

// Splay spreads calls over 300 seconds unless splaytime is set. Its hashes range from 0 to
// splayHashes-1.
const (
	splayTime   = 300
	splayHashes = 8192
)

// splay waits for this minion's share of splaytime, which depends on its id.
func (e Executors) splay(ctx context.Context, options any) error {
	length := e.Opts.Value("splaytime")
	if options, ok := options.(*data.Map); ok && options.Has("splaytime") {
		length = options.Value("splaytime")
	}
	seconds := float64(splayTime)
	switch n := length.(type) {
	case nil:
	case int64:
		seconds = float64(n)
	case float64:
		seconds = n
	default:
		return loader.Exception("TypeError", "splaytime: expected seconds, got %s",
			data.Repr(length))
	}
	if seconds <= 0 {
		return loader.Exception("ValueError", "splaytime must be a positive integer")
	}
	return clock.Sleep(ctx, time.Duration(seconds*float64(splayHash(e.Opts.Text("id")))/splayHashes)*time.Second)
}

// splayHash returns Jenkins's one-at-a-time hash of an id, from 0 to splayHashes-1.
func splayHash(id string) uint32 {
	var h uint32
	for _, c := range []byte(id) {
		h += uint32(c)
		h += h << 10
		h ^= h >> 6
	}
	h += h << 3
	h ^= h >> 11
	h += h << 15
	return h & (splayHashes - 1)
}

// sudo runs a function through salt-call as sudo_user.
func (e Executors) sudo(ctx context.Context, fun string, arg []any) loader.Result {
	words := append([]string{"-u", e.sudoUser(), "salt-call", "--out", "json", "--metadata",
		"-c", e.confDir(), "--", fun}, sudoWords(fun, arg)...)
	cmd := exec.Command("sudo", words...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := process.Run(ctx, cmd)
	if cmd.ProcessState == nil || ctx.Err() != nil {
		err = fmt.Errorf("run sudo: %w", cmp.Or(context.Cause(ctx), err))
		return loader.Result{Value: fmt.Sprintf("The minion function caused an exception: %v", err),
			Retcode: 1, Out: "nested", Err: err}
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		return loader.Result{Value: strings.TrimRight(stderr.String(), "\r\n"), Retcode: code}
	}
	return parseSudoOutput(stdout.Bytes())
}

func (e Executors) confDir() string {
	return cmp.Or(e.Opts.Text("config_dir"), e.Opts.Text("conf_dir"),
		filepath.Dir(e.Opts.Text("conf_file")))
}

// sudoWords returns the arguments of a publication as command line words that salt-call parses to
// the same values. State runs get concurrent=True, since the minion counts this job as a running
// state run itself.
func sudoWords(fun string, arg []any) []string {
	args, kwargs := splitWire(arg)
	if slices.Contains([]string{"state.sls", "state.highstate", "state.apply"}, fun) {
		kwargs.Set("concurrent", true)
	}
	var words []string
	for _, v := range args {
		words = append(words, sudoWord("", v))
	}
	for key, v := range kwargs.All() {
		words = append(words, sudoWord(data.Str(key)+"=", v))
	}
	return words
}

// splitWire splits the arguments of a publication into positional and keyword arguments.
func splitWire(arg []any) (args []any, kwargs *data.Map) {
	_, marked := loader.ParseInput(slices.DeleteFunc(slices.Clone(arg), isText))
	for _, v := range arg {
		if m, ok := v.(*data.Map); !ok || m.Value("__kwarg__") != true {
			args = append(args, v)
		}
	}
	return args, marked
}

func isText(v any) bool { _, ok := v.(string); return ok }

func sudoWord(prefix string, v any) string {
	word := prefix + data.Str(v)
	want := []any{v}
	if prefix != "" {
		want = loader.ConditionInput(nil, data.NewMap(strings.TrimSuffix(prefix, "="), v))
	}
	if data.Equal(loader.WireArgs([]string{word}), want) {
		return word
	}
	if quoted, err := pyjson.Append(nil, v, pyjson.Options{Comma: ", ", Colon: ": "}); err == nil {
		return prefix + string(quoted)
	}
	return word
}

// parseSudoOutput parses the output of salt-call --metadata.
func parseSudoOutput(stdout []byte) loader.Result {
	v, err := pyjson.Load(string(stdout))
	all, _ := v.(*data.Map)
	ret, ok := all.Value("local").(*data.Map)
	if err != nil || !ok {
		err = fmt.Errorf("read what salt-call printed: %w",
			cmp.Or(err, fmt.Errorf("no key local in %.200q", stdout)))
		return loader.Result{Value: fmt.Sprintf("The minion function caused an exception: %v", err),
			Retcode: 1, Out: "nested", Err: err}
	}
	code, err := loader.Int(ret.Value("retcode"))
	if err != nil {
		code = 0
	}
	return loader.Result{Value: ret.Value("return"), Retcode: int(code), Success: code == 0,
		Out: ret.Text("out")}
}
