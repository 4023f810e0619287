// Package record is how a master's jobs and returns are written where the layout of Salt's own caches cannot hold all of
// them: as MessagePack with a checksum, so that what was damaged is known. Caches keep records beside Salt's rows, keys or
// files, which stay as Salt's programs read them.
package record

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
	"github.com/brineproject/brine/returner"
)

// ErrDamaged is wrapped for a record that is not as it was written.
var ErrDamaged = errors.New("the record is damaged")

// mark begins every record.
const mark = "brine\x01"

// jobRecord is a job as records hold it: MessagePack, with the checksum of the whole behind it.
type jobRecord struct {
	ID      string
	Load    []byte
	Minions []string
	Missing []string
	NoCache bool
	Started int64 // microseconds
}

type returnRecord struct {
	Job      string
	Minion   string
	Load     []byte
	Received int64 // microseconds
}

// MarshalJob returns j as a record with a checksum, for caches whose own layout cannot hold all of it. Absent is not in it.
func MarshalJob(j *returner.Job) ([]byte, error) {
	return seal(&jobRecord{string(j.ID), j.Load, j.Minions, j.Missing, j.NoCache, j.Started.UnixMicro()})
}

// UnmarshalJob reads a record of the job id. The error wraps ErrDamaged when it is not as it was written, or another's.
func UnmarshalJob(id job.ID, b []byte) (*returner.Job, error) {
	var r jobRecord
	err := unseal(b, &r)
	if err == nil && r.ID != string(id) {
		err = fmt.Errorf("%w: it is of another", ErrDamaged)
	}
	if err != nil {
		return nil, fmt.Errorf("job %.64q: %w", id, err)
	}
	return &returner.Job{ID: id, Load: r.Load, Minions: r.Minions, Missing: r.Missing, NoCache: r.NoCache, Started: time.UnixMicro(r.Started).UTC()}, nil
}

// MarshalReturn returns r as a record with a checksum.
func MarshalReturn(id job.ID, r *returner.Return) ([]byte, error) {
	return seal(&returnRecord{string(id), r.Minion, r.Load, r.Received.UnixMicro()})
}

// UnmarshalReturn reads the record of a return for the job id. The error wraps ErrDamaged as that of UnmarshalJob.
func UnmarshalReturn(id job.ID, b []byte) (*returner.Return, error) {
	var r returnRecord
	err := unseal(b, &r)
	if err == nil && r.Job != string(id) {
		err = fmt.Errorf("%w: it is of another job", ErrDamaged)
	}
	if err != nil {
		return nil, fmt.Errorf("return for job %.64q: %w", id, err)
	}
	return &returner.Return{Minion: r.Minion, Load: r.Load, Received: time.UnixMicro(r.Received).UTC()}, nil
}

func seal(v any) ([]byte, error) {
	body, err := typed.Marshal(v)
	if err != nil {
		return nil, err
	}
	b := append([]byte(mark), body...)
	return binary.BigEndian.AppendUint32(b, checksum(b)), nil
}

func unseal(b []byte, v any) error {
	end := len(b) - 4
	if end < len(mark) || string(b[:len(mark)]) != mark || binary.BigEndian.Uint32(b[end:]) != checksum(b[:end]) {
		return ErrDamaged
	}
	limits := payload.WireLimits()
	limits.Size += 1 << 20
	if err := typed.Unmarshal(b[len(mark):end], limits, v); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// Answer returns a digest of what a return says, by which a repetition is told from a second answer: of its fields return
// and retcode, as they are encoded, or of the whole load when that has no field return.
func Answer(load data.Raw) []byte {
	h := sha256.New()
	fields, err := payload.ParseFields(load, payload.WireLimits())
	if err != nil || !fields.Has("return") {
		h.Write(load)
		return h.Sum(nil)[:16]
	}
	value := fields.Raw("return")
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(value))))
	h.Write(value)
	h.Write(fields.Raw("retcode"))
	return h.Sum(nil)[:16]
}

// FunOf returns the function of a load, "" when it does not say; several are joined by commas.
func FunOf(load data.Raw) string {
	fields, err := payload.ParseFields(load, payload.WireLimits())
	if err != nil {
		return ""
	}
	return returner.FunText(fields.Value("fun"))
}

// MergeIDs returns ids and then those of more that are not among them, and whether there were any. ids is not changed.
func MergeIDs(ids, more []string) (all []string, changed bool) {
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[id] = true
	}
	all = slices.Clip(ids)
	for _, id := range more {
		if !known[id] {
			known[id] = true
			all = append(all, id)
		}
	}
	return all, len(all) > len(ids)
}
