package redis

import "context"

type noArgs struct{ server }

type keyArgs struct {
	Key string
	server
}

type fieldArgs struct {
	Key   string
	Field string
	server
}

type rangeArgs struct {
	Key   string
	Start any
	Stop  any
	server
}

type patternArgs struct {
	Pattern string `default:"'*'"`
	server
}

// bgrewriteaof starts to write the append-only file anew, and returns True. The arguments host, port, db
// and password of each function default to the options redis.host, redis.port, redis.db and redis.password,
// and redis.host to the host salt.
//
// CLI Example:
//
//	salt '*' redis.bgrewriteaof
func (m *module) bgrewriteaof(ctx context.Context, a noArgs) (any, error) {
	return m.one(ctx, a.server, yes, "BGREWRITEAOF")
}

// bgsave starts to save the database in the background, and returns True.
//
// CLI Example:
//
//	salt '*' redis.bgsave
func (m *module) bgsave(ctx context.Context, a noArgs) (any, error) {
	return m.one(ctx, a.server, yes, "BGSAVE")
}

// configGet returns the settings of the server that fit a pattern. They may contain passwords.
//
// CLI Example:
//
//	salt '*' redis.config_get '*max*'
func (m *module) configGet(ctx context.Context, a patternArgs) (any, error) {
	return m.one(ctx, a.server, pairs, "CONFIG", "GET", a.Pattern)
}

// dbsize returns the number of keys.
//
// CLI Example:
//
//	salt '*' redis.dbsize
func (m *module) dbsize(ctx context.Context, a noArgs) (any, error) {
	return m.one(ctx, a.server, same, "DBSIZE")
}

// exists returns 1 if a key is there, otherwise 0.
//
// CLI Example:
//
//	salt '*' redis.exists foo
func (m *module) exists(ctx context.Context, a keyArgs) (any, error) {
	return m.one(ctx, a.server, same, "EXISTS", a.Key)
}

// flushall removes all keys of all databases, and returns True.
//
// CLI Example:
//
//	salt '*' redis.flushall
func (m *module) flushall(ctx context.Context, a noArgs) (any, error) {
	return m.one(ctx, a.server, yes, "FLUSHALL")
}

// flushdb removes all keys of the database, and returns True.
//
// CLI Example:
//
//	salt '*' redis.flushdb
func (m *module) flushdb(ctx context.Context, a noArgs) (any, error) {
	return m.one(ctx, a.server, yes, "FLUSHDB")
}

// hexists returns whether a hash has a field.
//
// CLI Example:
//
//	salt '*' redis.hexists foo_hash bar_field
func (m *module) hexists(ctx context.Context, a fieldArgs) (any, error) {
	return m.one(ctx, a.server, truth, "HEXISTS", a.Key, a.Field)
}

// hget returns the value of a field of a hash, or None.
//
// CLI Example:
//
//	salt '*' redis.hget foo_hash bar_field
func (m *module) hget(ctx context.Context, a fieldArgs) (any, error) {
	return m.one(ctx, a.server, same, "HGET", a.Key, a.Field)
}

// hgetall returns all fields of a hash with their values.
//
// CLI Example:
//
//	salt '*' redis.hgetall foo_hash
func (m *module) hgetall(ctx context.Context, a keyArgs) (any, error) {
	return m.one(ctx, a.server, pairs, "HGETALL", a.Key)
}

// hlen returns the number of fields of a hash.
//
// CLI Example:
//
//	salt '*' redis.hlen foo_hash
func (m *module) hlen(ctx context.Context, a keyArgs) (any, error) {
	return m.one(ctx, a.server, same, "HLEN", a.Key)
}

// hvals returns the values of all fields of a hash.
//
// CLI Example:
//
//	salt '*' redis.hvals foo_hash
func (m *module) hvals(ctx context.Context, a keyArgs) (any, error) {
	return m.one(ctx, a.server, same, "HVALS", a.Key)
}

// info returns what the server reports about itself.
//
// CLI Example:
//
//	salt '*' redis.info
func (m *module) info(ctx context.Context, a noArgs) (any, error) {
	return m.one(ctx, a.server, information, "INFO")
}

// keys returns the keys that fit a pattern.
//
// CLI Example:
//
//	salt '*' redis.keys 'test*'
func (m *module) keys(ctx context.Context, a patternArgs) (any, error) {
	return m.one(ctx, a.server, same, "KEYS", a.Pattern)
}

// keyType returns the type of a value: string, list, set, zset, hash, stream or none.
//
// CLI Example:
//
//	salt '*' redis.key_type foo
func (m *module) keyType(ctx context.Context, a keyArgs) (any, error) {
	return m.one(ctx, a.server, same, "TYPE", a.Key)
}

// lastsave returns the Unix time of the last save.
//
// CLI Example:
//
//	salt '*' redis.lastsave
func (m *module) lastsave(ctx context.Context, a noArgs) (any, error) {
	return m.one(ctx, a.server, same, "LASTSAVE")
}

// llen returns the length of a list.
//
// CLI Example:
//
//	salt '*' redis.llen foo_list
func (m *module) llen(ctx context.Context, a keyArgs) (any, error) {
	return m.one(ctx, a.server, same, "LLEN", a.Key)
}

// lrange returns the values of a list from start to stop, both included. Numbers below 0 count from its end.
//
// CLI Example:
//
//	salt '*' redis.lrange foo_list 0 10
func (m *module) lrange(ctx context.Context, a rangeArgs) (any, error) {
	return m.one(ctx, a.server, same, "LRANGE", a.Key, a.Start, a.Stop)
}

// save saves the database, and returns True after it.
//
// CLI Example:
//
//	salt '*' redis.save
func (m *module) save(ctx context.Context, a noArgs) (any, error) {
	return m.one(ctx, a.server, yes, "SAVE")
}

// smembers returns the members of a set.
//
// CLI Example:
//
//	salt '*' redis.smembers foo_set
func (m *module) smembers(ctx context.Context, a keyArgs) (any, error) {
	return m.one(ctx, a.server, same, "SMEMBERS", a.Key)
}

// time returns the server's Unix time.
//
// CLI Example:
//
//	salt '*' redis.time
func (m *module) time(ctx context.Context, a noArgs) (any, error) {
	return m.one(ctx, a.server, first, "TIME")
}

// ttl returns the seconds until a key expires: -1 if it does not, and -2 if it is not there. It is Brine's
// own.
//
// CLI Example:
//
//	salt '*' redis.ttl foo
func (m *module) ttl(ctx context.Context, a keyArgs) (any, error) {
	return m.one(ctx, a.server, same, "TTL", a.Key)
}

// zcard returns the number of members of a sorted set.
//
// CLI Example:
//
//	salt '*' redis.zcard foo_sorted
func (m *module) zcard(ctx context.Context, a keyArgs) (any, error) {
	return m.one(ctx, a.server, same, "ZCARD", a.Key)
}

// zrange returns the members of a sorted set from start to stop, both included.
//
// CLI Example:
//
//	salt '*' redis.zrange foo_sorted 0 10
func (m *module) zrange(ctx context.Context, a rangeArgs) (any, error) {
	return m.one(ctx, a.server, same, "ZRANGE", a.Key, a.Start, a.Stop)
}

type configArgs struct {
	Name  string
	Value any
	server
}

// configSet sets a setting of the server, and returns True.
//
// CLI Example:
//
//	salt '*' redis.config_set timeout 60
func (m *module) configSet(ctx context.Context, a configArgs) (any, error) {
	return m.one(ctx, a.server, yes, "CONFIG", "SET", a.Name, a.Value)
}

type expireArgs struct {
	Key     string
	Seconds any
	server
}

// expire lets a key expire after some seconds, and returns whether the key is there.
//
// CLI Example:
//
//	salt '*' redis.expire foo 300
func (m *module) expire(ctx context.Context, a expireArgs) (any, error) {
	return m.one(ctx, a.server, truth, "EXPIRE", a.Key, a.Seconds)
}

type expireatArgs struct {
	Key       string
	Timestamp any
	server
}

// expireat lets a key expire at a Unix time, and returns whether the key is there.
//
// CLI Example:
//
//	salt '*' redis.expireat foo 1400000000
func (m *module) expireat(ctx context.Context, a expireatArgs) (any, error) {
	return m.one(ctx, a.server, truth, "EXPIREAT", a.Key, a.Timestamp)
}

type hincrbyArgs struct {
	Key       string
	Field     string
	Increment any `default:"1"`
	server
}

// hincrby adds to the number in a field of a hash, and returns the sum.
//
// CLI Example:
//
//	salt '*' redis.hincrby foo_hash bar_field 5
func (m *module) hincrby(ctx context.Context, a hincrbyArgs) (any, error) {
	return m.one(ctx, a.server, same, "HINCRBY", a.Key, a.Field, a.Increment)
}

type hincrbyfloatArgs struct {
	Key       string
	Field     string
	Increment any `default:"1.0"`
	server
}

// hincrbyfloat adds to the number in a field of a hash, and returns the sum.
//
// CLI Example:
//
//	salt '*' redis.hincrbyfloat foo_hash bar_field 5.17
func (m *module) hincrbyfloat(ctx context.Context, a hincrbyfloatArgs) (any, error) {
	return m.one(ctx, a.server, float, "HINCRBYFLOAT", a.Key, a.Field, a.Increment)
}

type hsetArgs struct {
	Key   string
	Field string
	Value any
	server
}

// hset sets a field of a hash, and returns 1 if it is new, otherwise 0.
//
// CLI Example:
//
//	salt '*' redis.hset foo_hash bar_field bar_value
func (m *module) hset(ctx context.Context, a hsetArgs) (any, error) {
	return m.one(ctx, a.server, same, "HSET", a.Key, a.Field, a.Value)
}

type hsetnxArgs struct {
	Key   string
	Field string
	Value any
	server
}

// hsetnx sets a field of a hash that is not there yet, and returns whether it was set.
//
// CLI Example:
//
//	salt '*' redis.hsetnx foo_hash bar_field bar_value
func (m *module) hsetnx(ctx context.Context, a hsetnxArgs) (any, error) {
	return m.one(ctx, a.server, same, "HSETNX", a.Key, a.Field, a.Value)
}

type setArgs struct {
	Key   string
	Value any
	server
}

// setKey sets the value of a key, and returns True.
//
// CLI Example:
//
//	salt '*' redis.set_key foo bar
func (m *module) setKey(ctx context.Context, a setArgs) (any, error) {
	return m.one(ctx, a.server, yes, "SET", a.Key, a.Value)
}
