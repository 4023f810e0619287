package elasticsearch

import (
	"context"
	"net/http"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type nameArgs struct {
	Name string
	connection
}

type idArgs struct {
	ID string `name:"id"`
	connection
}

type indexArgs struct {
	Index string
	connection
}

type nodesArgs struct {
	Nodes any `default:"None"`
	connection
}

type nodeArgs struct {
	Nodes        any `default:"None"`
	FlatSettings any `default:"False"`
	connection
}

// nodeInfo returns what nodes report of themselves. nodes are their names with commas between them.
//
// CLI Example:
//
//	salt '*' elasticsearch.node_info flat_settings=True
func (m *module) nodeInfo(ctx context.Context, a nodeArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodGet, path: []string{"_nodes", part(a.Nodes)},
		what: "Cannot retrieve node information", query: []any{"flat_settings", a.FlatSettings}})
}

type healthArgs struct {
	Index any `default:"None"`
	Level any `default:"'cluster'"`
	Local any `default:"False"`
	connection
}

// clusterHealth returns the health of the cluster, or of an index. level is cluster, indices or shards.
//
// CLI Example:
//
//	salt '*' elasticsearch.cluster_health
func (m *module) clusterHealth(ctx context.Context, a healthArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodGet, path: []string{"_cluster", "health",
		part(a.Index)}, what: "Cannot retrieve health information", query: []any{"level", a.Level, "local",
		a.Local}})
}

// clusterStats returns the statistics of the cluster, or of nodes.
//
// CLI Example:
//
//	salt '*' elasticsearch.cluster_stats
func (m *module) clusterStats(ctx context.Context, a nodesArgs) (any, error) {
	path := []string{"_cluster", "stats"}
	if a.Nodes != nil {
		path = append(path, "nodes", part(a.Nodes))
	}
	return m.ask(ctx, a.connection, request{path: path, what: "Cannot retrieve cluster stats"})
}

type getSettingsArgs struct {
	FlatSettings    any `default:"False"`
	IncludeDefaults any `default:"False"`
	connection
}

// clusterGetSettings returns the settings of the cluster.
//
// CLI Example:
//
//	salt '*' elasticsearch.cluster_get_settings
func (m *module) clusterGetSettings(ctx context.Context, a getSettingsArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodGet, path: []string{"_cluster", "settings"},
		what: "Cannot retrieve cluster settings", query: []any{"flat_settings", a.FlatSettings,
			"include_defaults", a.IncludeDefaults}})
}

type putSettingsArgs struct {
	Body         any `default:"None"`
	FlatSettings any `default:"False"`
	connection
}

// clusterPutSettings changes settings of the cluster, and returns its answer. body has persistent and
// transient.
//
// CLI Example:
//
//	salt '*' elasticsearch.cluster_put_settings '{"persistent": {"indices.recovery.max_bytes_per_sec": "50mb"}}'
func (m *module) clusterPutSettings(ctx context.Context, a putSettingsArgs) (any, error) {
	if !data.Truth(a.Body) {
		return nil, loader.Invocation("You must provide a body with settings")
	}
	return m.ask(ctx, a.connection, request{method: http.MethodPut, path: []string{"_cluster", "settings"},
		what: "Cannot update cluster settings", query: []any{"flat_settings", a.FlatSettings}, body: a.Body})
}

type aliasArgs struct {
	Indices any
	Alias   any
	Hosts   any `default:"None"`
	Body    any `default:"None"`
	Profile any `default:"None"`
	Source  any `default:"None"`
}

// aliasCreate gives indices an alias, and returns whether the server acknowledged it. body has the options
// of the alias; source is a file of the file server with them.
//
// CLI Example:
//
//	salt '*' elasticsearch.alias_create testindex_v1 testindex
func (m *module) aliasCreate(ctx context.Context, a aliasArgs) (any, error) {
	body, err := m.body(ctx, a.Body, a.Source)
	if err != nil {
		return nil, err
	}
	return m.acked(ctx, connection{a.Hosts, a.Profile}, request{method: http.MethodPut,
		path: []string{part(a.Indices), "_alias", part(a.Alias)},
		what: "Cannot create alias " + data.Str(a.Alias) + " in index " + data.Str(a.Indices), body: body},
		"acknowledged")
}

type aliasDeleteArgs struct {
	Indices any
	Aliases any
	Hosts   any `default:"None"`
	Body    any `default:"None"`
	Profile any `default:"None"`
	Source  any `default:"None"`
}

// aliasDelete takes aliases from indices, and returns True also if they were not there.
//
// CLI Example:
//
//	salt '*' elasticsearch.alias_delete testindex_v1 testindex
func (m *module) aliasDelete(ctx context.Context, a aliasDeleteArgs) (any, error) {
	if data.Truth(a.Source) && data.Truth(a.Body) {
		return nil, loader.Invocation("Either body or source should be specified but not both.")
	}
	return m.removed(ctx, connection{a.Hosts, a.Profile}, request{path: []string{part(a.Indices), "_aliases",
		part(a.Aliases)},
		what: "Cannot delete alias " + data.Str(a.Aliases) + " in index " + data.Str(a.Indices)})
}

type aliasExistsArgs struct {
	Aliases any
	Indices any `default:"None"`
	connection
}

// aliasExists returns whether an alias is there, for indices or at all.
//
// CLI Example:
//
//	salt '*' elasticsearch.alias_exists None testindex
func (m *module) aliasExists(ctx context.Context, a aliasExistsArgs) (any, error) {
	return m.there(ctx, a.connection, request{method: http.MethodHead, path: []string{part(a.Indices),
		"_alias", part(a.Aliases)},
		what: "Cannot get alias " + data.Str(a.Aliases) + " in index " + data.Str(a.Indices)})
}

type aliasGetArgs struct {
	Indices any `default:"None"`
	Aliases any `default:"None"`
	connection
}

// aliasGet returns aliases by index, or None.
//
// CLI Example:
//
//	salt '*' elasticsearch.alias_get testindex
func (m *module) aliasGet(ctx context.Context, a aliasGetArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodGet, path: []string{part(a.Indices), "_alias",
		part(a.Aliases)}, what: "Cannot get alias " + data.Str(a.Aliases) + " in index " + data.Str(a.Indices),
		missing: true})
}

type documentArgs struct {
	Index   string
	DocType any
	Body    any `default:"None"`
	ID      any `name:"id" default:"None"`
	connection
	Source any `default:"None"`
}

// documentCreate stores a document in an index, and returns the server's answer. Without id it gets one.
// source is a file of the file server with the document.
//
// CLI Example:
//
//	salt '*' elasticsearch.document_create testindex doctype1 '{}'
func (m *module) documentCreate(ctx context.Context, a documentArgs) (any, error) {
	body, err := m.body(ctx, a.Body, a.Source)
	if err != nil {
		return nil, err
	}
	method := http.MethodPut
	if a.ID == nil {
		method = http.MethodPost
	}
	return m.ask(ctx, a.connection, request{method: method, path: []string{a.Index, kind(a.DocType),
		part(a.ID)}, body: body,
		what: "Cannot create document in index " + a.Index})
}

type documentDeleteArgs struct {
	Index   string
	DocType any
	ID      any `name:"id"`
	connection
}

// documentDelete deletes a document, and returns the server's answer, or None if it was not there.
//
// CLI Example:
//
//	salt '*' elasticsearch.document_delete testindex doctype1 AUx-384m0Bug_8U80wQZ
func (m *module) documentDelete(ctx context.Context, a documentDeleteArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodDelete, path: []string{a.Index, kind(a.DocType),
		part(a.ID)}, what: "Cannot delete document " + data.Str(a.ID) + " in index " + a.Index, missing: true})
}

type documentGetArgs struct {
	Index   string
	ID      any `name:"id"`
	DocType any `default:"'_all'"`
	connection
}

// documentExists returns whether a document is there. From Elasticsearch 7 on doc_type is _doc.
//
// CLI Example:
//
//	salt '*' elasticsearch.document_exists testindex AUx-384m0Bug_8U80wQZ
func (m *module) documentExists(ctx context.Context, a documentGetArgs) (any, error) {
	return m.there(ctx, a.connection, request{method: http.MethodHead, path: []string{a.Index, kind(a.DocType),
		part(a.ID)}, what: "Cannot retrieve document " + data.Str(a.ID) + " from index " + a.Index})
}

// documentGet returns a document, or None. From Elasticsearch 7 on doc_type is _doc.
//
// CLI Example:
//
//	salt '*' elasticsearch.document_get testindex AUx-384m0Bug_8U80wQZ
func (m *module) documentGet(ctx context.Context, a documentGetArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodGet, path: []string{a.Index, kind(a.DocType),
		part(a.ID)}, what: "Cannot retrieve document " + data.Str(a.ID) + " from index " + a.Index, missing: true})
}

type indexCreateArgs struct {
	Index string
	Body  any `default:"None"`
	connection
	Source any `default:"None"`
}

// indexCreate creates an index, and returns whether the server acknowledged it. An index that is there
// already is one too. body or the file source have its settings and mappings.
//
// CLI Example:
//
//	salt '*' elasticsearch.index_create testindex
func (m *module) indexCreate(ctx context.Context, a indexCreateArgs) (any, error) {
	body, err := m.body(ctx, a.Body, a.Source)
	if err != nil {
		return nil, err
	}
	v, err := m.ask(ctx, a.connection, request{method: http.MethodPut, path: []string{a.Index}, body: body,
		what: "Cannot create index " + a.Index})
	if refused(err, "index_already_exists_exception", "resource_already_exists_exception") {
		return true, nil
	}
	answer, _ := v.(*data.Map)
	if err != nil || !data.Truth(answer.Value("acknowledged")) {
		return false, err
	}
	shards, ok := answer.Get("shards_acknowledged")
	if !ok {
		return answer.Value("acknowledged"), nil
	}
	return shards, nil
}

// indexDelete deletes an index, and returns True also if it was not there.
//
// CLI Example:
//
//	salt '*' elasticsearch.index_delete testindex
func (m *module) indexDelete(ctx context.Context, a indexArgs) (any, error) {
	return m.removed(ctx, a.connection, request{path: []string{a.Index}, what: "Cannot delete index " + a.Index})
}

// indexExists returns whether an index is there.
//
// CLI Example:
//
//	salt '*' elasticsearch.index_exists testindex
func (m *module) indexExists(ctx context.Context, a indexArgs) (any, error) {
	return m.there(ctx, a.connection, request{method: http.MethodHead, path: []string{a.Index},
		what: "Cannot retrieve index " + a.Index})
}

// indexGet returns an index with its settings, mappings and aliases, or None.
//
// CLI Example:
//
//	salt '*' elasticsearch.index_get testindex
func (m *module) indexGet(ctx context.Context, a indexArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodGet, path: []string{a.Index},
		what: "Cannot retrieve index " + a.Index, missing: true})
}

type openArgs struct {
	Index             string
	AllowNoIndices    any `default:"True"`
	ExpandWildcards   any `default:"'closed'"`
	IgnoreUnavailable any `default:"True"`
	connection
}

type closeArgs struct {
	Index             string
	AllowNoIndices    any `default:"True"`
	ExpandWildcards   any `default:"'open'"`
	IgnoreUnavailable any `default:"True"`
	connection
}

// indexOpen opens an index, and returns whether the server acknowledged it.
//
// CLI Example:
//
//	salt '*' elasticsearch.index_open testindex
func (m *module) indexOpen(ctx context.Context, a openArgs) (any, error) {
	return m.acked(ctx, a.connection, request{method: http.MethodPost, path: []string{a.Index, "_open"},
		what: "Cannot open index " + a.Index, query: []any{"allow_no_indices", a.AllowNoIndices,
			"expand_wildcards", a.ExpandWildcards,
			"ignore_unavailable", a.IgnoreUnavailable}}, "acknowledged")
}

// indexClose closes an index, and returns whether the server acknowledged it.
//
// CLI Example:
//
//	salt '*' elasticsearch.index_close testindex
func (m *module) indexClose(ctx context.Context, a closeArgs) (any, error) {
	return m.acked(ctx, a.connection, request{method: http.MethodPost, path: []string{a.Index, "_close"},
		what: "Cannot close index " + a.Index, query: []any{"allow_no_indices", a.AllowNoIndices,
			"expand_wildcards", a.ExpandWildcards,
			"ignore_unavailable", a.IgnoreUnavailable}}, "acknowledged")
}

type kwargsArgs struct {
	connection
	Kwargs *data.Map `kwargs:"kwargs"`
}

// indexGetSettings returns settings of indices, or None. Further arguments are index, name, and those of
// the API: allow_no_indices, expand_wildcards, flat_settings, ignore_unavailable, include_defaults, local.
//
// CLI Example:
//
//	salt '*' elasticsearch.index_get_settings index=testindex
func (m *module) indexGetSettings(ctx context.Context, a kwargsArgs) (any, error) {
	path, query, err := settings("get_settings", a.Kwargs, "name")
	if err != nil {
		return nil, err
	}
	return m.ask(ctx, a.connection, request{path: path, query: query, missing: true,
		what: "Cannot retrieve index settings " + data.Str(a.Kwargs)})
}

type putIndexArgs struct {
	Body any `default:"None"`
	connection
	Source any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// indexPutSettings changes settings of indices, and returns whether the server acknowledged it, or None if
// there is no such index. Further arguments are index and those of the API, such as preserve_existing.
//
// CLI Example:
//
//	salt '*' elasticsearch.index_put_settings index=testindex body='{"settings": {"index": {"number_of_replicas": 2}}}'
func (m *module) indexPutSettings(ctx context.Context, a putIndexArgs) (any, error) {
	body, err := m.body(ctx, a.Body, a.Source)
	if err != nil {
		return nil, err
	}
	path, query, err := settings("put_settings", a.Kwargs)
	if err != nil {
		return nil, err
	}
	v, err := m.ask(ctx, a.connection, request{method: http.MethodPut, path: path, query: query, body: body,
		missing: true,
		what:    "Cannot update index settings " + data.Str(a.Kwargs)})
	if err != nil || v == nil {
		return nil, err
	}
	return acknowledged(v, "acknowledged"), nil
}

type mappingArgs struct {
	Index   string
	DocType any
	Body    any `default:"None"`
	connection
	Source any `default:"None"`
}

type mappingGetArgs struct {
	Index   string
	DocType any
	connection
}

// mappingCreate changes the mapping of an index, and returns whether the server acknowledged it. From
// Elasticsearch 7 on doc_type is None.
//
// CLI Example:
//
//	salt '*' elasticsearch.mapping_create testindex user '{"properties": {}}'
func (m *module) mappingCreate(ctx context.Context, a mappingArgs) (any, error) {
	body, err := m.body(ctx, a.Body, a.Source)
	if err != nil {
		return nil, err
	}
	return m.acked(ctx, a.connection, request{method: http.MethodPut, path: []string{a.Index, part(a.DocType),
		"_mapping"}, what: "Cannot create mapping " + a.Index, body: body}, "acknowledged")
}

// mappingDelete is an error, as no Elasticsearch from 5.0 on deletes mappings.
//
// CLI Example:
//
//	salt '*' elasticsearch.mapping_delete testindex user
func (m *module) mappingDelete(ctx context.Context, a mappingGetArgs) (any, error) {
	return nil, loader.Execution("Method is not applicable for Elasticsearch 5.0+")
}

// mappingGet returns the mapping of an index, or None. From Elasticsearch 7 on doc_type is None.
//
// CLI Example:
//
//	salt '*' elasticsearch.mapping_get testindex user
func (m *module) mappingGet(ctx context.Context, a mappingGetArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodGet, path: []string{a.Index, "_mapping",
		part(a.DocType)}, what: "Cannot retrieve mapping " + a.Index, missing: true})
}

type templateArgs struct {
	Name string
	Body any `default:"None"`
	connection
	Source any `default:"None"`
}

// indexTemplateCreate creates or replaces an index template, and returns whether the server acknowledged it.
//
// CLI Example:
//
//	salt '*' elasticsearch.index_template_create testindex_templ '{"template": "logstash-*"}'
func (m *module) indexTemplateCreate(ctx context.Context, a templateArgs) (any, error) {
	body, err := m.body(ctx, a.Body, a.Source)
	if err != nil {
		return nil, err
	}
	return m.acked(ctx, a.connection, request{method: http.MethodPut, path: []string{"_template", a.Name},
		what: "Cannot create template " + a.Name, body: body}, "acknowledged")
}

// indexTemplateDelete deletes an index template, and returns True also if it was not there.
//
// CLI Example:
//
//	salt '*' elasticsearch.index_template_delete testindex_templ
func (m *module) indexTemplateDelete(ctx context.Context, a nameArgs) (any, error) {
	return m.removed(ctx, a.connection, request{path: []string{"_template", a.Name},
		what: "Cannot delete template " + a.Name})
}

// indexTemplateExists returns whether an index template is there.
//
// CLI Example:
//
//	salt '*' elasticsearch.index_template_exists testindex_templ
func (m *module) indexTemplateExists(ctx context.Context, a nameArgs) (any, error) {
	return m.there(ctx, a.connection, request{method: http.MethodHead, path: []string{"_template", a.Name},
		what: "Cannot retrieve template " + a.Name})
}

// indexTemplateGet returns an index template, or None.
//
// CLI Example:
//
//	salt '*' elasticsearch.index_template_get testindex_templ
func (m *module) indexTemplateGet(ctx context.Context, a nameArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodGet, path: []string{"_template", a.Name},
		what: "Cannot retrieve template " + a.Name, missing: true})
}

type pipelineArgs struct {
	ID   string `name:"id"`
	Body any
	connection
}

// pipelineGet returns an ingest pipeline, or None.
//
// CLI Example:
//
//	salt '*' elasticsearch.pipeline_get mypipeline
func (m *module) pipelineGet(ctx context.Context, a idArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodGet, path: []string{"_ingest", "pipeline",
		a.ID}, what: "Cannot create pipeline " + a.ID, missing: true})
}

// pipelineDelete deletes an ingest pipeline, and returns True also if it was not there.
//
// CLI Example:
//
//	salt '*' elasticsearch.pipeline_delete mypipeline
func (m *module) pipelineDelete(ctx context.Context, a idArgs) (any, error) {
	return m.removed(ctx, a.connection, request{path: []string{"_ingest", "pipeline", a.ID},
		what: "Cannot delete pipeline " + a.ID})
}

// pipelineCreate creates or replaces an ingest pipeline, and returns whether the server acknowledged it.
//
// CLI Example:
//
//	salt '*' elasticsearch.pipeline_create mypipeline '{"description": "my custom pipeline", "processors": []}'
func (m *module) pipelineCreate(ctx context.Context, a pipelineArgs) (any, error) {
	return m.acked(ctx, a.connection, request{method: http.MethodPut, path: []string{"_ingest", "pipeline",
		a.ID}, what: "Cannot create pipeline " + a.ID, body: a.Body}, "acknowledged")
}

type simulateArgs struct {
	ID      string `name:"id"`
	Body    any
	Verbose any `default:"False"`
	connection
}

// pipelineSimulate runs an ingest pipeline on the documents of body without storing them.
//
// CLI Example:
//
//	salt '*' elasticsearch.pipeline_simulate mypipeline '{"docs": []}' verbose=True
func (m *module) pipelineSimulate(ctx context.Context, a simulateArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodPost, path: []string{"_ingest", "pipeline",
		a.ID, "_simulate"}, what: "Cannot simulate pipeline " + a.ID, query: []any{"verbose", a.Verbose},
		body: a.Body})
}

// searchTemplateGet returns a search template, or None. template is its source.
//
// CLI Example:
//
//	salt '*' elasticsearch.search_template_get mytemplate
func (m *module) searchTemplateGet(ctx context.Context, a idArgs) (any, error) {
	v, err := m.ask(ctx, a.connection, request{path: []string{"_scripts", a.ID}, missing: true,
		what: "Cannot obtain search template " + a.ID})
	if answer, ok := v.(*data.Map); ok {
		script, _ := answer.Value("script").(*data.Map)
		answer.Set("template", script.Value("source"))
	}
	return v, err
}

// searchTemplateCreate creates or replaces a search template, and returns whether the server acknowledged
// it. body is the search, or has script.
//
// CLI Example:
//
//	salt '*' elasticsearch.search_template_create mytemplate '{"query": {"match_all": {}}}'
func (m *module) searchTemplateCreate(ctx context.Context, a pipelineArgs) (any, error) {
	body := a.Body
	if text, ok := body.(string); ok {
		v, err := fromJSON(text)
		if err != nil {
			return nil, err
		}
		body = v
	}
	if of, _ := body.(*data.Map); !of.Has("script") {
		body = data.NewMap("script", data.NewMap("lang", "mustache", "source", body))
	}
	return m.acked(ctx, a.connection, request{method: http.MethodPut, path: []string{"_scripts", a.ID},
		what: "Cannot create search template " + a.ID, body: body}, "acknowledged")
}

// searchTemplateDelete deletes a search template, and returns True also if it was not there.
//
// CLI Example:
//
//	salt '*' elasticsearch.search_template_delete mytemplate
func (m *module) searchTemplateDelete(ctx context.Context, a idArgs) (any, error) {
	return m.removed(ctx, a.connection, request{path: []string{"_scripts", a.ID},
		what: "Cannot delete search template " + a.ID})
}

type repositoryGetArgs struct {
	Name  string
	Local any `default:"False"`
	connection
}

type repositoryArgs struct {
	Name string
	Body any
	connection
}

// repositoryGet returns a repository of snapshots, or None.
//
// CLI Example:
//
//	salt '*' elasticsearch.repository_get testrepo
func (m *module) repositoryGet(ctx context.Context, a repositoryGetArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodGet, path: []string{"_snapshot", a.Name},
		what: "Cannot obtain repository " + a.Name, query: []any{"local", a.Local}, missing: true})
}

// repositoryCreate creates or replaces a repository of snapshots, and returns whether the server
// acknowledged it.
//
// CLI Example:
//
//	salt '*' elasticsearch.repository_create testrepo '{"type": "fs", "settings": {"location": "/tmp/test"}}'
func (m *module) repositoryCreate(ctx context.Context, a repositoryArgs) (any, error) {
	return m.acked(ctx, a.connection, request{method: http.MethodPut, path: []string{"_snapshot", a.Name},
		what: "Cannot create repository " + a.Name, body: a.Body}, "acknowledged")
}

// repositoryDelete deletes a repository of snapshots, and returns True also if it was not there.
//
// CLI Example:
//
//	salt '*' elasticsearch.repository_delete testrepo
func (m *module) repositoryDelete(ctx context.Context, a nameArgs) (any, error) {
	return m.removed(ctx, a.connection, request{path: []string{"_snapshot", a.Name},
		what: "Cannot delete repository " + a.Name})
}

// repositoryVerify lets the nodes check a repository of snapshots, and returns those that can use it, or
// None.
//
// CLI Example:
//
//	salt '*' elasticsearch.repository_verify testrepo
func (m *module) repositoryVerify(ctx context.Context, a nameArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodPost, path: []string{"_snapshot", a.Name,
		"_verify"}, what: "Cannot verify repository " + a.Name, missing: true})
}

type statusArgs struct {
	Repository        any `default:"None"`
	Snapshot          any `default:"None"`
	IgnoreUnavailable any `default:"False"`
	connection
}

// snapshotStatus returns the state of running snapshots, or of the given ones.
//
// CLI Example:
//
//	salt '*' elasticsearch.snapshot_status ignore_unavailable=True
func (m *module) snapshotStatus(ctx context.Context, a statusArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodGet, path: []string{"_snapshot",
		part(a.Repository), part(a.Snapshot), "_status"}, what: "Cannot obtain snapshot status",
		query: []any{"ignore_unavailable", a.IgnoreUnavailable}})
}

type snapshotGetArgs struct {
	Repository        string
	Snapshot          string
	IgnoreUnavailable any `default:"False"`
	connection
}

// snapshotGet returns what is known of a snapshot.
//
// CLI Example:
//
//	salt '*' elasticsearch.snapshot_get testrepo testsnapshot
func (m *module) snapshotGet(ctx context.Context, a snapshotGetArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodGet, path: []string{"_snapshot", a.Repository,
		a.Snapshot}, what: "Cannot obtain details of snapshot " + a.Snapshot + " in repository " + a.Repository,
		query: []any{"ignore_unavailable", a.IgnoreUnavailable}})
}

type snapshotArgs struct {
	Repository string
	Snapshot   string
	Body       any `default:"None"`
	connection
}

// snapshotCreate begins a snapshot, and returns whether the server accepted it.
//
// CLI Example:
//
//	salt '*' elasticsearch.snapshot_create testrepo testsnapshot
func (m *module) snapshotCreate(ctx context.Context, a snapshotArgs) (any, error) {
	return m.acked(ctx, a.connection, request{method: http.MethodPut, path: []string{"_snapshot", a.Repository,
		a.Snapshot}, what: "Cannot create snapshot " + a.Snapshot + " in repository " + a.Repository,
		body: a.Body}, "accepted")
}

// snapshotRestore begins to restore a snapshot, and returns whether the server accepted it.
//
// CLI Example:
//
//	salt '*' elasticsearch.snapshot_restore testrepo testsnapshot
func (m *module) snapshotRestore(ctx context.Context, a snapshotArgs) (any, error) {
	return m.acked(ctx, a.connection, request{method: http.MethodPost, path: []string{"_snapshot",
		a.Repository, a.Snapshot, "_restore"}, body: a.Body,
		what: "Cannot restore snapshot " + a.Snapshot + " in repository " + a.Repository}, "accepted")
}

type snapshotDeleteArgs struct {
	Repository string
	Snapshot   string
	connection
}

// snapshotDelete deletes a snapshot, and returns True also if it was not there.
//
// CLI Example:
//
//	salt '*' elasticsearch.snapshot_delete testrepo testsnapshot
func (m *module) snapshotDelete(ctx context.Context, a snapshotDeleteArgs) (any, error) {
	return m.removed(ctx, a.connection, request{path: []string{"_snapshot", a.Repository, a.Snapshot},
		what: "Cannot delete snapshot " + a.Snapshot + " from repository " + a.Repository})
}

// flushSynced flushes indices so that they recover fast, and returns the server's answer. index names them;
// the default is all. Elasticsearch 8 does not have it any more.
//
// CLI Example:
//
//	salt '*' elasticsearch.flush_synced index=testindex
func (m *module) flushSynced(ctx context.Context, a kwargsArgs) (any, error) {
	return m.ask(ctx, a.connection, request{method: http.MethodPost,
		path: []string{part(a.Kwargs.Value("index")), "_flush",
			"synced"}, what: "Cannot flush synced"})
}
