package postgres

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Clusters returns the functions of module postgres for the clusters of Debian
// (salt/modules/deb_postgres.py). It loads only if the program pg_createcluster is installed.
//
// Differences from Salt: clusters that cannot be listed are an error, where Salt returns those that
// it read; cluster_list returns a list.
func Clusters() loader.Plugin {
	return loader.Plugin{Name: "postgres", File: "deb_postgres", New: newClusters}
}

func newClusters(env *loader.Env) (*loader.Module, error) {
	if _, err := exec.LookPath("pg_createcluster"); err != nil {
		return nil, errors.New("postgres execution module not loaded: pg_createcluste command not found.") //nolint:staticcheck // Salt's text
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("cluster_create", m.clusterCreate),
		loader.F("cluster_exists", m.clusterExists),
		loader.F("cluster_list", m.clusterList),
		loader.F("cluster_remove", m.clusterRemove),
	}}, nil
}

type clusterCreateArgs struct {
	Version          any
	Name             string `default:"'main'"`
	Port             any    `default:"None"`
	Locale           any    `default:"None"`
	Encoding         any    `default:"None"`
	Datadir          any    `default:"None"`
	AllowGroupAccess any    `default:"None"`
	DataChecksums    any    `default:"None"`
	WALSegsize       any    `default:"None" name:"wal_segsize"`
}

// clusterCreate creates a cluster: a server with its own port and data. It returns what the program
// pg_createcluster printed, or False if it failed.
//
// version, name
//
//	The version of PostgreSQL, and the name of the cluster.
//
// port, locale, encoding, datadir
//
//	The port, the locale and the encoding of new databases, and the directory of the data.
//
// allow_group_access, data_checksums, wal_segsize
//
//	Whether the group may read the files, whether pages get checksums, and the size of files of the
//	write-ahead log in megabytes.
//
// CLI Example:
//
//	salt '*' postgres.cluster_create '15'
//	salt '*' postgres.cluster_create '15' 'main' locale='fr_FR'
//	salt '*' postgres.cluster_create '15' data_checksums=True wal_segsize='32'
func (m *module) clusterCreate(ctx context.Context, a clusterCreateArgs) (any, error) {
	argv := []string{"pg_createcluster"}
	for _, o := range []struct {
		flag  string
		value any
	}{{"--port", a.Port}, {"--locale", a.Locale}, {"--encoding", a.Encoding},
		{"--datadir", a.Datadir}} {
		if data.Truth(o.value) {
			argv = append(argv, o.flag, data.Str(o.value))
		}
	}
	argv = append(argv, data.Str(a.Version), a.Name)
	if data.Truth(a.AllowGroupAccess) || data.Truth(a.DataChecksums) || data.Truth(a.WALSegsize) {
		argv = append(argv, "--") // what follows is for initdb
	}
	if a.AllowGroupAccess == true {
		argv = append(argv, "--allow-group-access")
	}
	if a.DataChecksums == true {
		argv = append(argv, "--data-checksums")
	}
	if data.Truth(a.WALSegsize) {
		argv = append(argv, "--wal-segsize", data.Str(a.WALSegsize))
	}
	ran, err := m.clusterProgram(ctx, argv)
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 {
		m.env.Log.Errorf("Error creating a Postgresql cluster %s/%s", data.Str(a.Version), a.Name)
		return false, nil
	}
	return ran.Map, nil
}

// clusterProgram runs a program. Values that are no
// values of an option or names of a cluster are refused.
func (m *module) clusterProgram(
	ctx context.Context, argv []string,
) (calls.Ran, error) {
	known := []string{"--port", "--locale", "--encoding", "--datadir", "--", "--stop",
		"--no-header", "--allow-group-access", "--data-checksums", "--wal-segsize"}
	for _, word := range argv {
		if strings.HasPrefix(word, "-") && !slices.Contains(known, word) ||
			strings.ContainsAny(word, "\n\r\x00") || word == "" {
			return calls.Ran{}, loader.Invocation("%q cannot be an argument of %s", word, argv[0])
		}
	}
	return calls.RunAll(ctx, m.env, calls.Run{Argv: argv})
}

type clusterListArgs struct {
	Verbose bool `default:"False"`
}

// clusterList returns the names of the clusters, such as 15/main.
//
// verbose : False
//
//	Return a dictionary with the port, the status, the user, the directory and the log of each.
//
// CLI Example:
//
//	salt '*' postgres.cluster_list
//	salt '*' postgres.cluster_list verbose=True
func (m *module) clusterList(ctx context.Context, a clusterListArgs) (any, error) {
	all, err := m.clusters(ctx)
	if err != nil || a.Verbose {
		return all, err
	}
	return all.Keys(), nil
}

// clusters returns the clusters by name.
func (m *module) clusters(ctx context.Context) (*data.Map, error) {
	ran, err := m.clusterProgram(ctx, []string{"pg_lsclusters", "--no-header"})
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 {
		return nil, loader.Execution("list the clusters of PostgreSQL: %s", ran.Stderr)
	}
	return parseClusters(ran.Stdout)
}

// parseClusters reads the output of pg_lsclusters: version, name, port, status, user, directory and
// log.
func parseClusters(output string) (*data.Map, error) {
	all := data.NewMap()
	for line := range strings.Lines(output) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) != 7 {
			return nil, loader.Execution("list the clusters of PostgreSQL: cannot read %q", line)
		}
		port, err := loader.Int(words[2])
		if err != nil {
			return nil, err
		}
		all.Set(words[0]+"/"+words[1], data.NewMap("port", port, "status", words[3],
			"user", words[4], "datadir", words[5], "log", words[6]))
	}
	return all, nil
}

type clusterArgs struct {
	Version any
	Name    string `default:"'main'"`
}

// clusterExists reports whether there is a cluster.
//
// CLI Example:
//
//	salt '*' postgres.cluster_exists '15'
//	salt '*' postgres.cluster_exists '15' 'main'
func (m *module) clusterExists(ctx context.Context, a clusterArgs) (any, error) {
	all, err := m.clusters(ctx)
	return all.Has(data.Str(a.Version) + "/" + a.Name), err
}

type clusterRemoveArgs struct {
	Version any
	Name    string `default:"'main'"`
	Stop    any    `default:"False"`
}

// clusterRemove removes a cluster with its data, and returns what the program pg_dropcluster
// printed.
//
// stop : False
//
//	Stop the server first. A cluster that runs is not removed otherwise.
//
// CLI Example:
//
//	salt '*' postgres.cluster_remove '15'
//	salt '*' postgres.cluster_remove '15' 'main' stop=True
func (m *module) clusterRemove(ctx context.Context, a clusterRemoveArgs) (any, error) {
	argv := []string{"pg_dropcluster"}
	if data.Truth(a.Stop) {
		argv = append(argv, "--stop")
	}
	name := data.Str(a.Version) + "/" + a.Name
	ran, err := m.clusterProgram(ctx, append(argv, data.Str(a.Version), a.Name))
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 {
		m.env.Log.Errorf("Error removing a Postgresql cluster %s", name)
	} else {
		ran.Map.Set("changes", "Successfully removed cluster "+name)
	}
	return ran.Map, nil
}
