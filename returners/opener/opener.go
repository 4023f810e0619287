// Package opener opens the returners that a master uses: job caches and stores of events, by the
// options that name them. It links the drivers of databases.
package opener

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/carbon"
	"github.com/brineproject/brine/returners/elasticsearch"
	"github.com/brineproject/brine/returners/jobstore"
	"github.com/brineproject/brine/returners/local"
	"github.com/brineproject/brine/returners/localcache"
	"github.com/brineproject/brine/returners/mysql"
	"github.com/brineproject/brine/returners/postgres"
	"github.com/brineproject/brine/returners/rawfilejson"
	"github.com/brineproject/brine/returners/redis"
	"github.com/brineproject/brine/returners/slackwebhook"
	"github.com/brineproject/brine/returners/smtp"
	"github.com/brineproject/brine/returners/splunk"
	"github.com/brineproject/brine/returners/sqlcache"
	"github.com/brineproject/brine/returners/sqlite3"
)

// A choice describes a returner in this program; unsupported parts are nil.
type choice struct {
	name   string
	jobs   func(ctx context.Context, cfg *config.Master, log logrus.FieldLogger) (returners.JobCache, error)
	events func(ctx context.Context, opts *data.Map) (returners.EventReturner, error)
	remote bool // it uses a server
}

// choices returns the returners of a master: those that store jobs or accept events.
func choices() []choice {
	return []choice{
		{name: "jobstore", jobs: func(
			ctx context.Context, cfg *config.Master, log logrus.FieldLogger,
		) (returners.JobCache, error) {
			return jobstore.Open(ctx, filepath.Join(cfg.CacheDir, "jobs.db"),
				jobstore.Options{Log: log})
		}},
		{name: localcache.Name, jobs: func(_ context.Context, cfg *config.Master, log logrus.FieldLogger) (returners.JobCache, error) {
			return localcache.Open(filepath.Join(cfg.CacheDir, "jobs"),
				localcache.Options{HashType: cfg.HashType,
					EndTime: cfg.JobCacheStoreEndtime, Log: log})
		}},
		inDatabase(sqlite3.Database(), false),
		inDatabase(mysql.Database(), true),
		inDatabase(postgres.Database(postgres.Name), true),
		inDatabase(postgres.Database(postgres.NameJSONB), true),
		{name: redis.Name, remote: true, jobs: func(
			ctx context.Context, cfg *config.Master, log logrus.FieldLogger,
		) (returners.JobCache, error) {
			return redis.Open(ctx, cfg.Map(), redis.Options{Log: log})
		}},
		{name: rawfilejson.Name, events: func(_ context.Context, opts *data.Map) (returners.EventReturner, error) {
			return rawfilejson.OpenEvents(opts), nil
		}},
		{name: local.Name, events: func(context.Context, *data.Map) (returners.EventReturner, error) { return local.OpenEvents(), nil }},
		eventsOnly(smtp.Name, smtp.OpenEvents),
		eventsOnly(carbon.Name, carbon.OpenEvents),
		eventsOnly(elasticsearch.Name, elasticsearch.OpenEvents),
		eventsOnly(slackwebhook.Name, slackwebhook.OpenEvents),
		eventsOnly(splunk.Name, splunk.OpenEvents),
	}
}

// eventsOnly is a returner that accepts events, and opens without a connection.
func eventsOnly(name string, open func(opts *data.Map) returners.EventReturner) choice {
	return choice{name: name, events: func(_ context.Context, opts *data.Map) (returners.EventReturner, error) {
		return open(opts), nil
	}}
}

// inDatabase is a returner that stores jobs and events in a database.
func inDatabase(d sqlcache.Database, remote bool) choice {
	return choice{name: d.Dialect.Name, remote: remote, events: d.OpenEvents, jobs: func(
		ctx context.Context, cfg *config.Master, log logrus.FieldLogger,
	) (returners.JobCache, error) {
		return d.Open(ctx, cfg.Map(), log)
	}}
}

// A Capability is what an option needs of a returner.
type Capability int

// The capabilities: a returner can store jobs, or accept events.
const (
	Jobs Capability = iota
	Events
)

func (c choice) can(need Capability) bool {
	if need == Jobs {
		return c.jobs != nil
	}
	return c.events != nil
}

// Names returns the returners with a capability.
func Names(need Capability) []string {
	var names []string
	for _, c := range choices() {
		if c.can(need) {
			names = append(names, c.name)
		}
	}
	return names
}

// choose returns the returner with a capability that an option names.
func choose(option, name string, need Capability) (choice, error) {
	for _, c := range choices() {
		if c.can(need) && c.name == name {
			return c, nil
		}
	}
	return choice{}, fmt.Errorf("%s: there is no returner '%s'; use one of %s", option, name,
		strings.Join(Names(need), ", "))
}

// JobCache returns a function that opens the job cache of a master: the one of master_job_cache, by
// default a file in the cachedir. The error names the option if its value is no job cache.
func JobCache(
	cfg *config.Master, log logrus.FieldLogger,
) func(context.Context) (returners.JobCache, error) {
	return opener("master_job_cache", cfg.JobCacheName(), cfg, log)
}

// File returns a function that opens the job cache in the master's own file, whatever
// master_job_cache names.
func File(
	cfg *config.Master, log logrus.FieldLogger,
) func(context.Context) (returners.JobCache, error) {
	return opener("master_job_cache", "jobstore", cfg, log)
}

// ExtJobCache returns a function that opens the job cache that minions write to, ext_job_cache; nil
// if that is not set.
func ExtJobCache(
	cfg *config.Master, log logrus.FieldLogger,
) func(context.Context) (returners.JobCache, error) {
	if cfg.ExtJobCache == "" {
		return nil
	}
	return opener("ext_job_cache", cfg.ExtJobCache, cfg, log)
}

func opener(
	option, name string, cfg *config.Master, log logrus.FieldLogger,
) func(context.Context) (returners.JobCache, error) {
	return func(ctx context.Context) (returners.JobCache, error) {
		c, err := choose(option, name, Jobs)
		if err != nil {
			return nil, err
		}
		cache, err := c.jobs(ctx, cfg, log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", option, err)
		}
		if c.remote {
			cache = returners.Guard(name, cache, returners.GuardOptions{})
		}
		return cache, nil
	}
}

// Sink opens the returner of event_return with a name.
func Sink(ctx context.Context, name string, opts *data.Map) (returners.EventReturner, error) {
	c, err := choose("event_return", name, Events)
	if err != nil {
		return nil, err
	}
	return c.events(ctx, opts)
}
