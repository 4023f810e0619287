package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/returners"
)

var _ returners.Lookup = (*minionReturner)(nil)

// look connects, calls do and closes the connection.
func (r *minionReturner) look(
	ctx context.Context, what string, do func(ctx context.Context, db redis.UniversalClient) error,
) error {
	db, at, err := connect(r.from, nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := errors.Join(do(ctx, db), db.Close()); err != nil {
		return fmt.Errorf("read %s in redis on %s: %w", what, at, err)
	}
	return nil
}

// JID returns the content of ret:JID, by minion.
func (r *minionReturner) JID(ctx context.Context, jid string) (*data.Map, error) {
	all := &data.Map{}
	err := r.look(ctx, fmt.Sprintf("returns of job %.64q", jid),
		func(ctx context.Context, db redis.UniversalClient) error {
			found, err := db.HGetAll(ctx, r.prefix+"ret:"+jid).Result()
			if err != nil {
				return err
			}
			for _, minion := range slices.Sorted(maps.Keys(found)) {
				if err := setReturn(all, minion, found[minion]); err != nil {
					return err
				}
			}
			return nil
		})
	return all, err
}

func setReturn(all *data.Map, minion, text string) error {
	if text == "" {
		return nil
	}
	v, err := returners.ParseJSON([]byte(text))
	if err != nil {
		return fmt.Errorf("return of minion %.64q: %w", minion, err)
	}
	all.Set(minion, v)
	return nil
}

// Fun returns each minion's last return for a function: the entry of ret:JID for the job that
// MINION:FUN names. Salt looks for it in a key that it never writes, and always returns nothing.
func (r *minionReturner) Fun(ctx context.Context, fun string) (*data.Map, error) {
	all := &data.Map{}
	err := r.look(ctx, fmt.Sprintf("last returns of %.64q", fun),
		func(ctx context.Context, db redis.UniversalClient) error {
			ids, err := r.minions(ctx, db)
			if err != nil {
				return err
			}
			for _, minion := range ids {
				last, ok := lastKey(minion, fun)
				if !ok {
					continue
				}
				text, err := "", error(nil)
				if jid, getErr := db.Get(ctx, r.prefix+last).Result(); getErr == nil {
					text, err = db.HGet(ctx, r.prefix+"ret:"+jid, minion).Result()
				} else {
					err = getErr
				}
				if err != nil && !errors.Is(err, redis.Nil) {
					return err
				}
				if err := setReturn(all, minion, text); err != nil {
					return err
				}
			}
			return nil
		})
	return all, err
}

// JIDs returns the jobs of all keys load:JID, by ID.
func (r *minionReturner) JIDs(ctx context.Context) (*data.Map, error) {
	all := &data.Map{}
	err := r.look(ctx, "jobs", func(ctx context.Context, db redis.UniversalClient) error {
		keys, err := loadKeys(ctx, db, r.prefix+"load:*")
		if err != nil {
			return err
		}
		for _, key := range keys {
			text, err := db.Get(ctx, key).Result()
			if errors.Is(err, redis.Nil) {
				continue // it was deleted
			}
			if err != nil {
				return err
			}
			v, err := returners.ParseJSON([]byte(text))
			load, ok := v.(*data.Map)
			if err != nil || !ok {
				return fmt.Errorf("key %.64q is not the load of a job: %w", key, errors.Join(err))
			}
			jid := strings.TrimPrefix(key, r.prefix+"load:")
			all.Set(jid, returners.Instance(jid, load))
		}
		return nil
	})
	return all, err
}

// loadKeys returns the keys that match a pattern, sorted; in a cluster those of all its masters.
func loadKeys(ctx context.Context, db redis.UniversalClient, pattern string) ([]string, error) {
	scan := func(ctx context.Context, c *redis.Client) (keys []string, err error) {
		it := c.Scan(ctx, 0, pattern, 1000).Iterator()
		for it.Next(ctx) {
			keys = append(keys, it.Val())
		}
		return keys, it.Err()
	}
	var all []string
	var err error
	switch db := db.(type) {
	case *redis.Client:
		all, err = scan(ctx, db)
	case *redis.ClusterClient:
		found := make(chan []string, 1)
		found <- nil
		err = db.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
			keys, err := scan(ctx, c)
			found <- append(<-found, keys...)
			return err
		})
		all = <-found
	}
	slices.Sort(all)
	return slices.Compact(all), err
}

// Minions returns the set minions, sorted.
func (r *minionReturner) Minions(ctx context.Context) (ids []string, err error) {
	err = r.look(ctx, "minions", func(ctx context.Context, db redis.UniversalClient) error {
		ids, err = r.minions(ctx, db)
		return err
	})
	return ids, err
}

func (r *minionReturner) minions(ctx context.Context, db redis.UniversalClient) ([]string, error) {
	ids, err := db.SMembers(ctx, r.prefix+"minions").Result()
	slices.Sort(ids)
	return ids, err
}
