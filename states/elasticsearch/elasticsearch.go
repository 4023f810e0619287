// Package elasticsearch has Salt's states elasticsearch, elasticsearch_index and
// elasticsearch_index_template (salt/states/elasticsearch*.py): indices, aliases, templates and pipelines.
// They use the module elasticsearch.
//
// Differences from Salt: an alias, a pipeline or a search template without a definition is created only if
// it is not there, and the routing of an alias is compared as the server keeps it. A definition may be
// JSON. The order 0 of an index template is its default.
package elasticsearch

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state elasticsearch.
func Plugin() loader.Plugin {
	return state("elasticsearch", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("alias_absent", m.aliasAbsent),
			loader.F("alias_present", m.aliasPresent),
			loader.F("index_absent", m.indexAbsent),
			loader.F("index_present", m.indexPresent),
			loader.F("index_template_absent", m.indexTemplateAbsent),
			loader.F("index_template_present", m.indexTemplatePresent),
			loader.F("pipeline_absent", m.pipelineAbsent),
			loader.F("pipeline_present", m.pipelinePresent),
			loader.F("search_template_absent", m.searchTemplateAbsent),
			loader.F("search_template_present", m.searchTemplatePresent),
		}
	})
}

// Index returns the state elasticsearch_index.
func Index() loader.Plugin {
	return state("elasticsearch_index", func(m *module) []loader.Func {
		return []loader.Func{loader.F("absent", m.absent), loader.F("present", m.present)}
	})
}

// IndexTemplate returns the state elasticsearch_index_template.
func IndexTemplate() loader.Plugin {
	return state("elasticsearch_index_template", func(m *module) []loader.Func {
		return []loader.Func{loader.F("absent", m.templateAbsent), loader.F("present", m.templatePresent)}
	})
}

type module struct{ env *loader.Env }

func state(name string, funcs func(*module) []loader.Func) loader.Plugin {
	return loader.Plugin{Name: name, New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("elasticsearch.index_get") {
			return nil, errors.New("elasticsearch module could not be loaded")
		}
		return &loader.Module{Funcs: funcs(&module{env})}, nil
	}}
}

// call calls a function of the module. As in Salt, each error fails the state.
func (m *module) call(ctx context.Context, fun string, kwargs *data.Map) (any, error) {
	return m.env.Call(ctx, "elasticsearch."+fun, nil, kwargs)
}

// do calls a function that returns whether the server acknowledged a change.
func (m *module) do(ctx context.Context, failed, fun string, kwargs *data.Map) error {
	v, err := m.call(ctx, fun, kwargs)
	if err == nil && !data.Truth(v) {
		err = change.Reason(strings.ReplaceAll(failed, "RESULT", data.Str(v)))
	}
	return err
}

// A kind is a kind of thing on a server.
type kind struct {
	title     string // as in comments, with the name
	fun       string // the beginning of the functions' names
	key, name string // the argument with the name, and the name
}

func (k kind) kwargs(more ...any) *data.Map {
	all := data.NewMap(k.key, k.name)
	all.Update(data.NewMap(more...))
	return all
}

func index(name string) kind { return kind{"Index " + name, "index", "index", name} }

func indexTemplate(name string) kind {
	return kind{"Index template " + name, "index_template", "name", name}
}

func pipeline(name string) kind { return kind{"Pipeline " + name, "pipeline", "id", name} }

func searchTemplate(name string) kind {
	return kind{"Search template " + name, "search_template", "id", name}
}

// lower returns the title within a sentence.
func (k kind) lower() string { return strings.ToLower(k.title[:1]) + k.title[1:] }

// get returns the definition of a thing, or nil.
func (m *module) get(ctx context.Context, k kind) (any, error) {
	v, err := m.call(ctx, k.fun+"_get", k.kwargs())
	all, _ := v.(*data.Map)
	if err != nil {
		return nil, err
	}
	if k.fun != "search_template" {
		return all.Value(k.name), nil
	}
	if all == nil {
		return nil, nil
	}
	return parsed(all.Value("template"))
}

// parsed returns the value of JSON; other values stay as they are.
func parsed(v any) (any, error) {
	text, ok := v.(string)
	if !ok {
		return v, nil
	}
	v, err := pyjson.Load(text)
	if err != nil {
		return nil, loader.Execution("the definition is not JSON: %w", err)
	}
	return v, nil
}

// definition returns a definition as a dictionary.
func definition(v any) (*data.Map, error) {
	v, err := parsed(v)
	if err != nil {
		return nil, err
	}
	if m, ok := v.(*data.Map); ok {
		return m, nil
	}
	return &data.Map{}, nil
}

type nameArgs struct{ Name string }

// gone keeps a thing deleted.
func (m *module) gone(ctx context.Context, k kind) (change.Result, error) {
	return change.Thing[any]{
		Name:  k.name,
		Look:  func(ctx context.Context) (any, error) { return m.get(ctx, k) },
		Wants: func(now any) *data.Map { return change.When(now != nil, data.NewMap("old", now)) },
		Apply: func(ctx context.Context, _ any) error {
			return m.do(ctx, "Failed to remove "+k.lower()+" for unknown reasons", k.fun+"_delete", k.kwargs())
		},
		Texts: change.Texts{Same: k.title + " is already absent", Would: k.title + " will be removed",
			Done: "Successfully removed " + k.lower()},
	}.Ensure(ctx)
}

// indexAbsent keeps an index deleted.
//
//	testindex:
//	  elasticsearch.index_absent
func (m *module) indexAbsent(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.gone(ctx, index(a.Name))
}

// absent keeps an index deleted.
//
//	testindex:
//	  elasticsearch_index.absent
func (m *module) absent(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.gone(ctx, index(a.Name))
}

// indexTemplateAbsent keeps an index template deleted.
//
//	testindex-template:
//	  elasticsearch.index_template_absent
func (m *module) indexTemplateAbsent(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.gone(ctx, indexTemplate(a.Name))
}

// templateAbsent keeps an index template deleted.
//
//	testindex-template:
//	  elasticsearch_index_template.absent
func (m *module) templateAbsent(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.gone(ctx, indexTemplate(a.Name))
}

// pipelineAbsent keeps an ingest pipeline deleted.
//
//	mypipeline:
//	  elasticsearch.pipeline_absent
func (m *module) pipelineAbsent(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.gone(ctx, pipeline(a.Name))
}

// searchTemplateAbsent keeps a search template deleted.
//
//	mytemplate:
//	  elasticsearch.search_template_absent
func (m *module) searchTemplateAbsent(ctx context.Context, a nameArgs) (change.Result, error) {
	return m.gone(ctx, searchTemplate(a.Name))
}

type indexArgs struct {
	Name       string
	Definition any `default:"None"`
}

// indexPresent keeps an index. definition has its settings, mappings and aliases; it counts only for a new
// index.
//
//	testindex:
//	  elasticsearch.index_present:
//	    - definition:
//	        settings:
//	          index: {number_of_shards: 3}
func (m *module) indexPresent(ctx context.Context, a indexArgs) (change.Result, error) {
	return m.made(ctx, index(a.Name), a.Definition)
}

// present keeps an index, as elasticsearch.index_present does.
//
//	testindex:
//	  elasticsearch_index.present
func (m *module) present(ctx context.Context, a indexArgs) (change.Result, error) {
	return m.made(ctx, index(a.Name), a.Definition)
}

type definedArgs struct {
	Name       string
	Definition any
}

// templatePresent keeps an index template. definition counts only for a new one.
//
//	testindex-template:
//	  elasticsearch_index_template.present:
//	    - definition:
//	        index_patterns: [logstash-*]
func (m *module) templatePresent(ctx context.Context, a definedArgs) (change.Result, error) {
	return m.made(ctx, indexTemplate(a.Name), a.Definition)
}

type templateArgs struct {
	Name            string
	Definition      any
	CheckDefinition any `default:"False"`
}

// indexTemplatePresent keeps an index template.
//
// definition
//
//	The template: a dictionary, or JSON.
//
// check_definition
//
//	True: replace a template that differs. Default: the definition counts only for a new one.
//
//	testindex-template:
//	  elasticsearch.index_template_present:
//	    - definition:
//	        index_patterns: [logstash-*]
//	    - check_definition: True
func (m *module) indexTemplatePresent(ctx context.Context, a templateArgs) (change.Result, error) {
	k := indexTemplate(a.Name)
	if !data.Truth(a.CheckDefinition) {
		return m.made(ctx, k, a.Definition)
	}
	wanted, err := definition(a.Definition)
	if err != nil {
		return change.Refuse(a.Name, err.Error())
	}
	t := m.defined(k, wanted, a.Definition, func(now *data.Map) *data.Map {
		now = now.Clone()
		for _, key := range []string{"mappings", "aliases", "settings"} {
			if of, ok := now.Value(key).(*data.Map); ok && of.Len() == 0 && !wanted.Has(key) {
				now.Delete(key)
			}
		}
		if now.Value("order") == int64(0) && !wanted.Has("order") {
			now.Delete("order")
		}
		return now
	})
	t.Texts.Same = k.title + " is already present and up to date"
	say := t.Say
	t.Say = func(o change.Outcome[*data.Map]) any {
		switch {
		case o.Before == nil:
			return say(o)
		case o.Stage == change.StageWould:
			return k.title + " exist but need to be updated"
		case o.Stage == change.StageDone:
			return "Successfully updated " + k.lower()
		}
		return nil
	}
	return t.Ensure(ctx)
}

// there is what made finds: whether a thing is there and, after it was created, what it is.
type there struct {
	is  bool
	now any
}

// made keeps a thing that is never changed.
func (m *module) made(ctx context.Context, k kind, definition any) (change.Result, error) {
	created := false
	return change.Thing[there]{
		Name: k.name,
		Look: func(ctx context.Context) (there, error) {
			is, err := m.call(ctx, k.fun+"_exists", k.kwargs())
			if err != nil || !created {
				return there{is: data.Truth(is)}, err
			}
			now, err := m.get(ctx, k)
			return there{data.Truth(is), now}, err
		},
		Wants: func(t there) *data.Map { return change.When(!t.is, data.NewMap("new", definition)) },
		Apply: func(ctx context.Context, _ there) error {
			created = true
			return m.do(ctx, "Cannot create "+k.lower()+", RESULT", k.fun+"_create", k.kwargs("body", definition))
		},
		Changed: func(_, after there) *data.Map { return change.When(after.is, data.NewMap("new", after.now)) },
		Texts: change.Texts{Same: k.title + " is already present",
			Would: k.title + " does not exist and will be created", Done: "Successfully created " + k.lower()},
	}.Ensure(ctx)
}

// defined returns the thing that keeps a definition. body is what to send, and clean takes out of the present
// definition what does not count.
func (m *module) defined(k kind, wanted *data.Map, body any,
	clean func(*data.Map) *data.Map) change.Thing[*data.Map] {
	return change.Thing[*data.Map]{
		Name: k.name,
		Look: func(ctx context.Context) (*data.Map, error) {
			v, err := m.get(ctx, k)
			now, _ := v.(*data.Map)
			return now, err
		},
		Wants: func(now *data.Map) *data.Map {
			if now == nil {
				return data.NewMap("new", wanted)
			}
			return change.DeepDiff(clean(now), wanted)
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			return m.do(ctx, "Cannot create "+k.lower()+", RESULT", k.fun+"_create", k.kwargs("body", body))
		},
		Texts: change.Texts{Same: k.title + " is already present"},
		Say:   said[*data.Map](k, func(now *data.Map) bool { return now != nil }),
		Trust: true, // the server may keep a definition in another form
	}
}

// said returns the comments of a thing that is created or replaced.
func said[S any](k kind, exists func(S) bool) func(change.Outcome[S]) any {
	return func(o change.Outcome[S]) any {
		switch old := exists(o.Before); {
		case o.Stage == change.StageWould && old:
			return k.title + " exists with wrong configuration and will be overridden"
		case o.Stage == change.StageWould:
			return k.title + " does not exist and will be created"
		case o.Stage == change.StageDone && old:
			return "Successfully replaced " + k.lower()
		case o.Stage == change.StageDone:
			return "Successfully created " + k.lower()
		}
		return nil
	}
}

func same(now *data.Map) *data.Map { return now }

// pipelinePresent keeps an ingest pipeline with a definition.
//
//	test_pipeline:
//	  elasticsearch.pipeline_present:
//	    - definition:
//	        description: example pipeline
//	        processors: []
func (m *module) pipelinePresent(ctx context.Context, a definedArgs) (change.Result, error) {
	wanted, err := definition(a.Definition)
	if err != nil {
		return change.Refuse(a.Name, err.Error())
	}
	return m.defined(pipeline(a.Name), wanted, a.Definition, same).Ensure(ctx)
}

// searchTemplatePresent keeps a search template with a definition.
//
//	test_pipeline:
//	  elasticsearch.search_template_present:
//	    - definition:
//	        query: {match_all: {}}
func (m *module) searchTemplatePresent(ctx context.Context, a definedArgs) (change.Result, error) {
	wanted, err := definition(a.Definition)
	if err != nil {
		return change.Refuse(a.Name, err.Error())
	}
	return m.defined(searchTemplate(a.Name), wanted, a.Definition, same).Ensure(ctx)
}

type aliasArgs struct {
	Name       string
	Index      string
	Definition any `default:"None"`
}

func alias(name, index string) kind {
	return kind{title: "Alias " + name + " for index " + index, name: name}
}

// alias returns the definition of an alias of an index, or nil.
func (m *module) alias(ctx context.Context, name, index string) (*data.Map, error) {
	v, err := m.call(ctx, "alias_get", data.NewMap("aliases", name, "indices", index))
	all, _ := v.(*data.Map)
	of, _ := all.Value(index).(*data.Map)
	aliases, _ := of.Value("aliases").(*data.Map)
	one, _ := aliases.Value(name).(*data.Map)
	return one, err
}

// kept returns the definition of an alias as the server keeps it.
func kept(wanted *data.Map) *data.Map {
	all := wanted.Clone()
	if routing, ok := all.Get("routing"); ok {
		all.Delete("routing")
		for _, key := range []string{"index_routing", "search_routing"} {
			if !all.Has(key) {
				all.Set(key, data.Str(routing))
			}
		}
	}
	return all
}

// aliasPresent keeps an alias of an index. definition has its filter and routing.
//
//	mytestalias:
//	  elasticsearch.alias_present:
//	    - index: testindex
func (m *module) aliasPresent(ctx context.Context, a aliasArgs) (change.Result, error) {
	wanted, err := definition(a.Definition)
	if err != nil {
		return change.Refuse(a.Name, err.Error())
	}
	k := alias(a.Name, a.Index)
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) { return m.alias(ctx, a.Name, a.Index) },
		Wants: func(now *data.Map) *data.Map {
			if now == nil {
				return data.NewMap("new", wanted)
			}
			return change.DeepDiff(now, kept(wanted))
		},
		Apply: func(ctx context.Context, _ *data.Map) error {
			return m.do(ctx, "Cannot create "+k.lower()+", RESULT", "alias_create",
				data.NewMap("alias", a.Name, "indices", a.Index, "body", wanted))
		},
		Texts: change.Texts{Same: k.title + " is already present"},
		Say:   said[*data.Map](k, func(now *data.Map) bool { return now != nil }),
		Trust: true,
	}.Ensure(ctx)
}

type aliasAbsentArgs struct {
	Name  string
	Index string
}

// aliasAbsent keeps an alias away from an index.
//
//	mytestalias:
//	  elasticsearch.alias_absent:
//	    - index: testindex
func (m *module) aliasAbsent(ctx context.Context, a aliasAbsentArgs) (change.Result, error) {
	k := alias(a.Name, a.Index)
	return change.Thing[*data.Map]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (*data.Map, error) { return m.alias(ctx, a.Name, a.Index) },
		Wants: func(now *data.Map) *data.Map { return change.When(now != nil, data.NewMap("old", now)) },
		Apply: func(ctx context.Context, _ *data.Map) error {
			return m.do(ctx, "Failed to remove "+k.lower()+" for unknown reasons", "alias_delete",
				data.NewMap("aliases", a.Name, "indices", a.Index))
		},
		Texts: change.Texts{Same: k.title + " is already absent", Would: k.title + " will be removed",
			Done: "Successfully removed " + k.lower()},
	}.Ensure(ctx)
}
