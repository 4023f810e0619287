package saltmaster

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/master"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/jobstore"
	"github.com/brineproject/brine/returners/local"
	"github.com/brineproject/brine/returners/localcache"
	"github.com/brineproject/brine/returners/mysql"
	"github.com/brineproject/brine/returners/postgres"
	"github.com/brineproject/brine/returners/rawfilejson"
	"github.com/brineproject/brine/returners/redis"
	"github.com/brineproject/brine/returners/smtp"
	"github.com/brineproject/brine/returners/sqlcache"
	"github.com/brineproject/brine/returners/sqlite3"
)

// A choice is what this program has of a returner of one name; what it has not is nil.
type choice struct {
	name   string
	jobs   func(ctx context.Context, cfg *config.Master, log logrus.FieldLogger) (returners.JobCache, error)
	events func(ctx context.Context, opts *data.Map) (returners.EventReturner, error)
	remote bool // it speaks to a server
}

// choices are the returners of a master: places for jobs, and for events.
func choices() []choice {
	return []choice{
		{name: "jobstore", jobs: func(
			ctx context.Context, cfg *config.Master, log logrus.FieldLogger,
		) (returners.JobCache, error) {
			return jobstore.Open(ctx, filepath.Join(cfg.CacheDir, "jobs.db"), jobstore.Options{Log: log})
		}},
		{name: localcache.Name, jobs: func(_ context.Context, cfg *config.Master, log logrus.FieldLogger) (returners.JobCache, error) {
			return localcache.Open(filepath.Join(cfg.CacheDir, "jobs"), localcache.Options{HashType: cfg.HashType, EndTime: cfg.JobCacheStoreEndtime, Log: log})
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
		{name: smtp.Name, events: func(_ context.Context, opts *data.Map) (returners.EventReturner, error) {
			return smtp.OpenEvents(opts), nil
		}},
	}
}

// inDatabase is a returner that keeps jobs and events in a database.
func inDatabase(d sqlcache.Database, remote bool) choice {
	return choice{name: d.Dialect.Name, remote: remote, events: d.OpenEvents, jobs: func(
		ctx context.Context, cfg *config.Master, log logrus.FieldLogger,
	) (returners.JobCache, error) {
		return d.Open(ctx, cfg.Map(), log)
	}}
}

// choose returns the returner that an option names, of those that have what the option needs.
func choose(option, name string, has func(choice) bool) (choice, error) {
	for _, c := range choices() {
		if has(c) && c.name == name {
			return c, nil
		}
	}
	return choice{}, fmt.Errorf("%s: %w", option, noReturner(name, has))
}

func keepsJobs(c choice) bool { return c.jobs != nil }

func takesEvents(c choice) bool { return c.events != nil }

// JobCache returns what opens the job cache of a master, as master_job_cache says: one file in its cachedir where that is not
// set. The error names the option when it names no job cache.
func JobCache(cfg *config.Master, log logrus.FieldLogger) func(context.Context) (returners.JobCache, error) {
	return opener("master_job_cache", cfg.JobCacheName(), cfg, log)
}

// ExtJobCache returns what opens the job cache that minions write to, ext_job_cache; nil where that is not set.
func ExtJobCache(cfg *config.Master, log logrus.FieldLogger) func(context.Context) (returners.JobCache, error) {
	if cfg.ExtJobCache == "" {
		return nil
	}
	return opener("ext_job_cache", cfg.ExtJobCache, cfg, log)
}

func opener(option, name string, cfg *config.Master, log logrus.FieldLogger) func(context.Context) (returners.JobCache, error) {
	return func(ctx context.Context) (returners.JobCache, error) {
		c, err := choose(option, name, keepsJobs)
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

// EventSinks returns the returners of event_return.
func EventSinks(cfg *config.Master) []master.EventSink {
	var sinks []master.EventSink
	for _, name := range cfg.EventReturn {
		if name == "" {
			continue
		}
		sinks = append(sinks, master.EventSink{Name: name, Open: func(ctx context.Context) (returners.EventReturner, error) {
			c, err := choose("event_return", name, takesEvents)
			if err != nil {
				return nil, err
			}
			return c.events(ctx, cfg.Map())
		}})
	}
	return sinks
}
