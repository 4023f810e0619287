package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Cluster returns the state postgres_cluster, for the clusters of Debian.
//
// Difference from Salt: a cluster that cannot be removed is a failure.
func Cluster() loader.Plugin {
	return loader.Plugin{Name: "postgres_cluster", New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("postgres.cluster_exists") {
			return nil, errors.New("Unable to load postgres module.  Make sure `postgres.bins_dir` is set.") //nolint:staticcheck // Salt's text
		}
		m := &module{env}
		return &loader.Module{Funcs: []loader.Func{
			loader.F("absent", m.absentCluster),
			loader.F("present", m.presentCluster),
		}}, nil
	}}
}

type clusterArgs struct {
	Version          any
	Name             string
	Port             any `default:"None"`
	Encoding         any `default:"None"`
	Locale           any `default:"None"`
	Datadir          any `default:"None"`
	AllowGroupAccess any `default:"None"`
	DataChecksums    any `default:"None"`
	WALSegsize       any `default:"None" name:"wal_segsize"`
}

// presentCluster creates a cluster: a server with its own port and data. A cluster with another port
// or directory is a failure, because these are set when it is created.
//
// version
//
//	The version of PostgreSQL.
//
// port, encoding, locale, datadir
//
//	The port, the encoding and the locale of new databases, and the directory of the data.
//
// allow_group_access, data_checksums, wal_segsize
//
//	Whether the group may read the files, whether pages get checksums, and the size of files of the
//	write-ahead log in megabytes.
//
//	main:
//	  postgres_cluster.present:
//	    - version: '15'
//	    - port: 5433
func (m *module) presentCluster(ctx context.Context, a clusterArgs) (change.Result, error) {
	name := data.Str(a.Version) + "/" + a.Name
	now, err := m.cluster(ctx, name)
	if err != nil {
		return change.Refuse(a.Name, err.Error())
	}
	if now != nil && (data.Truth(a.Port) && !data.Equal(a.Port, now.Value("port")) ||
		data.Truth(a.Datadir) && !data.Equal(a.Datadir, now.Value("datadir"))) {
		return change.Refuse(a.Name, fmt.Sprintf(
			"Cluster %s has wrong parameters which couldn't be changed on fly.", name))
	}
	return desired{
		name: a.Name,
		is: func(ctx context.Context) (any, error) {
			now, err := m.cluster(ctx, name)
			return now != nil, err
		},
		make: func(ctx context.Context) (any, error) {
			return m.env.Call(ctx, "postgres.cluster_create", nil, data.NewMap("version", a.Version,
				"name", a.Name, "port", a.Port, "locale", a.Locale, "encoding", a.Encoding,
				"datadir", a.Datadir, "allow_group_access", a.AllowGroupAccess,
				"data_checksums", a.DataChecksums, "wal_segsize", a.WALSegsize))
		},
		word: "Present", key: name,
		texts: change.Texts{
			Same:   fmt.Sprintf("Cluster %s is already present", name),
			Would:  fmt.Sprintf("Cluster %s is set to be created", name),
			Done:   fmt.Sprintf("The cluster %s has been created", name),
			Failed: fmt.Sprintf("Failed to create cluster %s", name),
		},
	}.ensure(ctx)
}

// cluster returns what is known about a cluster, or nil if it does not exist.
func (m *module) cluster(ctx context.Context, name string) (*data.Map, error) {
	all, err := loader.CallAs[*data.Map](ctx, m.env, "postgres.cluster_list", nil,
		data.NewMap("verbose", true))
	if err != nil {
		return nil, err
	}
	now, _ := all.Value(name).(*data.Map)
	return now, nil
}

type absentClusterArgs struct {
	Version any
	Name    string
}

// absentCluster stops a cluster and removes it with its data.
//
//	main:
//	  postgres_cluster.absent:
//	    - version: '15'
func (m *module) absentCluster(ctx context.Context, a absentClusterArgs) (change.Result, error) {
	name := data.Str(a.Version) + "/" + a.Name
	return desired{
		name: a.Name,
		is: func(ctx context.Context) (any, error) {
			now, err := m.cluster(ctx, name)
			return now == nil, err
		},
		make: func(ctx context.Context) (any, error) {
			ran, err := loader.CallAs[*data.Map](ctx, m.env, "postgres.cluster_remove",
				[]any{a.Version, a.Name, true}, nil)
			return ran.Has("changes"), err
		},
		word: "Absent",
		texts: change.Texts{
			Same:   fmt.Sprintf("Cluster %s is not present, so it cannot be removed", name),
			Would:  fmt.Sprintf("Cluster %s is set to be removed", name),
			Done:   fmt.Sprintf("Cluster %s has been removed", name),
			Failed: fmt.Sprintf("Failed to remove cluster %s", name),
		},
	}.ensure(ctx)
}
