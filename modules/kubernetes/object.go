package kubernetes

import (
	"context"
	"encoding/base64"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/yaml"
)

// verbatim are the fields whose keys are the user's, and no names of the API.
var verbatim = map[string]bool{"labels": true, "annotations": true, "data": true, "binaryData": true,
	"stringData": true, "matchLabels": true, "nodeSelector": true, "selector": true, "limits": true,
	"requests": true,
	"capacity": true, "allocatable": true, "hard": true, "parameters": true}

// snake returns a value of the API with the names of Python: clusterIP becomes cluster_ip.
func snake(v any) any {
	switch v := v.(type) {
	case []any:
		all := make([]any, len(v))
		for i, one := range v {
			all[i] = snake(one)
		}
		return all
	case *data.Map:
		all := &data.Map{}
		for k, one := range v.All() {
			name := data.Str(k)
			if of, ok := one.(*data.Map); ok && verbatim[name] && !structured(name, of) {
				all.Set(snakeName(name), of)
				continue
			}
			all.Set(snakeName(name), snake(one))
		}
		return all
	}
	return v
}

// structured reports whether a selector is one of matchLabels and matchExpressions.
func structured(name string, of *data.Map) bool {
	return name == "selector" && (of.Has("matchLabels") || of.Has("matchExpressions"))
}

func snakeName(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) ||
			i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// words are the parts of names that the API writes in capitals.
var words = map[string]string{"ip": "IP", "ips": "IPs", "i": "I", "ps": "Ps", "ipc": "IPC", "pid": "PID",
	"url": "URL"}

// camelName returns a name of Python in the API's form; others stay as they are.
func camelName(name string) string {
	parts := strings.Split(name, "_")
	if len(parts) == 1 {
		return name
	}
	for i, p := range parts[1:] {
		if w, ok := words[p]; ok {
			parts[i+1] = w
		} else if p != "" {
			parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

// camel returns a dictionary whose own keys have the API's form.
func camel(m *data.Map) *data.Map {
	all := &data.Map{}
	for k, v := range m.All() {
		all.Set(camelName(data.Str(k)), v)
	}
	return all
}

// changeCause is the annotation that tells who made a change.
const changeCause = "kubernetes.io/change-cause"

// meta returns the metadata of an object.
func meta(name, in string, given *data.Map) *data.Map {
	all := camel(given)
	annotations, _ := all.Value("annotations").(*data.Map)
	annotations = annotations.Clone()
	if !annotations.Has(changeCause) {
		annotations.Set(changeCause, "salt")
	}
	all.Set("annotations", annotations)
	all.Set("name", name)
	all.Set("namespace", in)
	return all
}

// spec returns the specification of an object. A port of a service may be a number.
func spec(k kind, given *data.Map) *data.Map {
	all := camel(given)
	ports, ok := all.Value("ports").([]any)
	if k != service || !ok {
		return all
	}
	list := make([]any, len(ports))
	for i, p := range ports {
		if of, ok := p.(*data.Map); ok {
			list[i] = camel(of)
		} else {
			list[i] = data.NewMap("port", p)
		}
	}
	all.Set("ports", list)
	return all
}

// A definition is what the functions that create or replace an object take.
type definition struct {
	name, in       string
	metadata, spec *data.Map
	source         any
	template       any
	saltenv        any
}

// body returns the object of a definition.
func (m *module) body(ctx context.Context, k kind, d definition) (*data.Map, error) {
	if data.Truth(d.source) {
		of, err := m.source(ctx, d.source, d.template, d.saltenv)
		if err != nil {
			return nil, err
		}
		if of.Text("kind") != k.name {
			return nil, loader.Execution("The source file should define only a %s object", k.name)
		}
		if v, ok := of.Value("metadata").(*data.Map); ok {
			d.metadata = v
		}
		if v, ok := of.Value("spec").(*data.Map); ok {
			d.spec = v
		}
	}
	return data.NewMap("apiVersion", k.version, "kind", k.name, "metadata", meta(d.name, d.in, d.metadata),
		"spec", spec(k, d.spec)), nil
}

// maxSource is the most bytes of a file with an object.
const maxSource = 8 << 20

// source reads a YAML file of the file server, which an engine renders if there is one.
func (m *module) source(ctx context.Context, source, template, saltenv any) (*data.Map, error) {
	var path string
	var err error
	if data.Truth(template) {
		path, err = calls.GetTemplate(ctx, m.env, calls.Template{Path: source, Engine: template, SaltEnv: saltenv})
	} else {
		path, err = calls.CacheFile(ctx, m.env, calls.Source{Path: source, SaltEnv: saltenv})
	}
	if err != nil || path == "" {
		return nil, loader.Execution("Source file '%s' not found", data.Str(source))
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxSource {
		return nil, loader.Execution("Source file '%s' cannot be read", data.Str(source))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, loader.OSError(err)
	}
	v, err := yaml.Load(text, yaml.Options{})
	of, ok := v.(*data.Map)
	if err != nil || !ok {
		return nil, loader.Execution("Source file '%s' holds no dictionary in YAML", data.Str(source))
	}
	return of, nil
}

// values returns the data of a secret or config map: texts by their names. encode writes them in base64.
func (m *module) values(ctx context.Context, given *data.Map, source, template, saltenv any,
	encode bool) (*data.Map, error) {
	if data.Truth(source) {
		var err error
		if given, err = m.source(ctx, source, template, saltenv); err != nil {
			return nil, err
		}
	}
	all := &data.Map{}
	for k, v := range given.All() {
		text := data.Str(v)
		if raw, ok := v.([]byte); ok {
			text = string(raw)
		}
		if encode {
			text = base64.StdEncoding.EncodeToString([]byte(text))
		}
		all.Set(data.Str(k), text)
	}
	return all, nil
}

// decoded returns the data of a secret without base64.
func decoded(values *data.Map) *data.Map {
	all := &data.Map{}
	for k, v := range values.All() {
		raw, err := base64.StdEncoding.DecodeString(data.Str(v))
		switch {
		case err != nil:
			all.Set(k, v)
		case utf8.Valid(raw):
			all.Set(k, string(raw))
		default:
			all.Set(k, raw)
		}
	}
	return all
}
