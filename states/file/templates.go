package file

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// templates are the arguments that specify sources of texts.
type templates struct{ source, sourceHash, template, sources, sourceHashes, defaults, context any }

func (t templates) any() bool { return data.Truth(t.source) || data.Truth(t.sources) }

func (t templates) complaint() string {
	switch {
	case data.Truth(t.source) && data.Truth(t.sources):
		return "source and sources are mutually exclusive"
	case data.Truth(t.sourceHash) && data.Truth(t.sourceHashes):
		return "source_hash and source_hashes are mutually exclusive"
	}
	return ""
}

// contentOf returns the rendered templates as a list.
func (m *module) contentOf(ctx context.Context, t templates) ([]string, *data.Map, error) {
	sources, _ := t.sources.([]any)
	if data.Truth(t.source) {
		sources = []any{t.source}
	}
	vars := data.NewMap()
	for _, v := range []any{t.defaults, t.context} {
		if more, ok := v.(*data.Map); ok {
			vars.Update(more)
		}
	}
	var out []string
	for _, source := range sources {
		file, err := calls.GetTemplate(ctx, m.env, calls.Template{
			Path: source, Engine: t.template, SaltEnv: change.CallOf(ctx).SaltEnv, Context: vars,
		})
		if err != nil {
			return nil, nil, err
		}
		if file == "" {
			return nil, failedTemplate(source, "Failed to load template file "+
				data.Str(source)), nil
		}
		body, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, loader.Exception("OSError", "%w", err)
		}
		if len(body) == 0 {
			return nil, failedTemplate(source, "Failed to read rendered template file "+file+" ("+
				data.Str(source)+")"), nil
		}
		out = append(out, strings.ToValidUTF8(string(body), "\ufffd"))
	}
	return out, nil, nil
}

func failedTemplate(source any, comment string) *data.Map {
	ret := change.Failed(source, comment)
	ret.Set("data", []any{})
	return ret
}

// warnOfHash logs that the hash of a source is ignored if the source is not remote.
func (m *module) warnOfHash(source, hash any) {
	if source == nil || !data.Truth(hash) {
		return
	}
	for _, s := range texts(source) {
		scheme, _, ok := strings.Cut(strings.ToLower(s), ":")
		if ok && slices.Contains([]string{"http", "https", "ftp"}, scheme) {
			return
		}
	}
	m.env.Log.Warn("source_hash is only used with 'http', 'https' or 'ftp'")
}
