package config

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
)

// A Master holds the options of a master. The options that the master itself reads have fields, in
// groups. These are generated from options.yaml, which describes each option, and docs/options.md
// lists them. The tag is the name of Salt's option.
type Master struct {
	MasterIdentity
	MasterNetwork
	MasterPaths
	Log
	MasterKeys
	MasterAccess
	MasterJobs
	MasterEvents
	MasterFiles
	MasterMetrics
	MasterMasters
	MasterSyndic

	opts   *data.Map // all options
	loaded *Master   // as it was loaded, to detect fields changed by code

	schedules map[string]*data.Map

	namesCache bool // master_job_cache is set in a file
}

// DefaultMaster returns the options of a master that has no configuration, with the paths of
// /etc/salt and no ID.
func DefaultMaster() *Master {
	m := &Master{opts: known().defaults(masterRole)}
	m.fill(&Report{})
	return m
}

// LoadMaster reads DIR/master, or the file that SALT_MASTER_CONFIG names, and the files that it
// includes. If dir is empty, it uses SALT_CONFIG_DIR or DefaultDir. env looks up environment
// variables; nil means none. The error joins the *Error of every fault; the report is returned even
// with an error.
func LoadMaster(dir string, env func(string) string) (*Master, *Report, error) {
	return loadMaster(dir, env, localHost(), nil)
}

// LoadClient is LoadMaster for programs that control the master on this host. They must start
// quickly and need no ID: if none is set, it is guessed without name servers.
func LoadClient(dir string, env func(string) string) (*Master, *Report, error) {
	h := localHost()
	h.full = func(_ context.Context, name string) string { return name }
	return loadMaster(dir, env, h, nil)
}

func loadMaster(dir string, env func(string) string, h host, over *override) (*Master, *Report, error) {
	opts, set, report, err := loadOver(masterRole, dir, env, h, over)
	m := &Master{opts: opts, schedules: report.schedules()}
	faults := slices.Concat(m.fill(report), m.samePorts(report), misspeltCluster(set, report))
	m.keepJobs(set)
	m.namesCache = set.Has("master_job_cache")
	if err := errors.Join(err, errors.Join(faults...)); err != nil {
		return nil, report, err
	}
	return m, report, nil
}

// samePorts returns an error if both ports are the same.
func (m *Master) samePorts(r *Report) []error {
	if m.PublishPort != m.RetPort {
		return nil
	}
	name := "ret_port"
	if _, ok := r.Sources[name]; !ok {
		name = "publish_port"
	}
	at := r.Sources[name]
	return []error{&Error{File: at.File, Line: at.Line, Option: name,
		Text:       fmt.Sprintf("publish_port and ret_port are both %d", m.RetPort),
		Suggestion: "a master needs two ports, such as 4505 and 4506"}}
}

// misspeltCluster returns an error for each unknown option that is like cluster and has servers. A member
// of a cluster that started alone would accept keys and jobs that the others never see.
func misspeltCluster(set *data.Map, r *Report) (faults []error) {
	for _, name := range r.Unknown {
		v, ok := set.Value(name).(*data.Map)
		if !ok || !v.Has("servers") || known().nearest(name) != "cluster" {
			continue
		}
		at := r.Sources[name]
		faults = append(faults, &Error{File: at.File, Line: at.Line, Option: name, Text: "unknown option",
			Suggestion: "is cluster meant? Without it this master would start alone"})
	}
	return faults
}

// JobCacheName returns the name of the job cache: the one in master_job_cache, or jobstore if that
// option is not set. Salt's default, local_cache, only counts if a file sets it.
func (m *Master) JobCacheName() string {
	if m.MasterJobCache == "" || m.MasterJobCache == "local_cache" && !m.namesCache {
		return "jobstore"
	}
	return m.MasterJobCache
}

func (m *Master) fill(r *Report) []error {
	faults := decode(m, m.opts, r)
	loaded := *m
	m.loaded = &loaded
	return faults
}

// keepJobs uses the old option, in hours, if the new one is not set
// (salt.utils.job.get_keep_jobs_seconds).
func (m *Master) keepJobs(set *data.Map) {
	hours, ok := toInt(set.Value("keep_jobs"))
	if ok && hours >= 0 && hours < 1e6 && m.KeepJobsSeconds == 24*time.Hour {
		m.KeepJobsSeconds = time.Duration(hours) * time.Hour
		m.loaded.KeepJobsSeconds = m.KeepJobsSeconds
	}
}

// Map returns all options in Salt's form, with the changes that code made to the fields of m; the
// caller owns it.
func (m *Master) Map() *data.Map {
	loaded := m.loaded
	if loaded == nil {
		loaded = &Master{}
	}
	return mapOf(m.opts, m, loaded)
}
