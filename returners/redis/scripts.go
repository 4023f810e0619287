package redis

import "github.com/redis/go-redis/v9"

// saveJob adds a job unless it exists; then it returns the existing record. Keys: job, jobs, load.
// Arguments: id, record, start, JSON, lifetime of Salt's keys, lifetime of ours, "replace".
func saveJob() *redis.Script {
	return redis.NewScript(`
local old = redis.call('GET', KEYS[1])
if old and ARGV[7] == '' then return old end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
redis.call('SET', KEYS[3], ARGV[4])
if tonumber(ARGV[5]) > 0 then
	redis.call('EXPIRE', KEYS[3], ARGV[5])
	redis.call('EXPIRE', KEYS[1], ARGV[6])
end
return ''`)
}

// swapJob replaces a record if it equals the caller's, and returns the record that is then stored.
// Key: job. Arguments: the old record, the new one.
func swapJob() *redis.Script {
	return redis.NewScript(`
local now = redis.call('GET', KEYS[1])
if not now then return '' end
if now == ARGV[1] then
	redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
	return ARGV[2]
end
return now`)
}

// saveReturn adds a return unless the minion has one; then it returns "old:" and the existing one.
// Keys: job, returns, order, ret, MINION:FUN, minions. Arguments: minion, value, JSON or nothing,
// id or nothing if MINION:FUN is not to be set, lifetime of Salt's keys, lifetime of ours,
// "replace".
func saveReturn() *redis.Script {
	return redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 'unknown' end
local old = redis.call('HGET', KEYS[2], ARGV[1])
if old and ARGV[7] == '' then return 'old:' .. old end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
if not old then redis.call('RPUSH', KEYS[3], ARGV[1]) end
if ARGV[3] ~= '' then
	redis.call('HSET', KEYS[4], ARGV[1], ARGV[3])
	if ARGV[4] ~= '' then redis.call('SET', KEYS[5], ARGV[4]) end
	redis.call('SADD', KEYS[6], ARGV[1])
end
if tonumber(ARGV[5]) > 0 then
	redis.call('EXPIRE', KEYS[4], ARGV[5])
	if ARGV[4] ~= '' then redis.call('EXPIRE', KEYS[5], ARGV[5]) end
	redis.call('EXPIRE', KEYS[2], ARGV[6])
	redis.call('EXPIRE', KEYS[3], ARGV[6])
	redis.call('EXPIRE', KEYS[1], ARGV[6])
end
return 'fresh'`)
}

// dropJob deletes a job and its returns, and returns 1 if it existed. Keys: jobs, and those to
// delete. Argument: id.
func dropJob() *redis.Script {
	return redis.NewScript(`
for i = 2, #KEYS do redis.call('DEL', KEYS[i]) end
return tostring(redis.call('ZREM', KEYS[1], ARGV[1]))`)
}
