package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// leastVersion is the oldest nats-server that the tests of this package run with.
	leastVersion = "2.9.10"
	// leastReplicated is the same for several replicas. With 2.9.10 the tests with a server that
	// stands still for seconds find acknowledged messages lost, and replicas that differ.
	leastReplicated = "2.10.29"
)

const (
	publicationsAge = time.Hour
	returnsAge      = 24 * time.Hour
	membersAge      = time.Minute
	// repeatWindow is how long a server recognizes a repeated message id.
	repeatWindow = 2 * time.Minute
)

// Error codes of JetStream's API that nats.go has no name for
// (nats-server/server/errors.json, 2.9.10).
const (
	codeNoSuitablePeers   jetstream.ErrorCode = 10005
	codeInsufficient      jetstream.ErrorCode = 10023
	codeUnderWay          jetstream.ErrorCode = 10158
	codeMemoryExceeded    jetstream.ErrorCode = 10028
	codeStorageExceeded   jetstream.ErrorCode = 10047
	codeReplicasAlone     jetstream.ErrorCode = 10074
	codeStoreFailed       jetstream.ErrorCode = 10077
	codeNotAvailable      jetstream.ErrorCode = 10008
	codeStorageOfAccount  jetstream.ErrorCode = 10002
	codeMaximumOfStream   jetstream.ErrorCode = 10122
	codePeersDoNotSatisfy jetstream.ErrorCode = 10048
)

// checkServer checks version and JetStream of the server that the connection is to.
func (c *Cluster) checkServer(ctx context.Context) error {
	if err := checkVersion(c.nc.ConnectedServerVersion(), c.o); err != nil {
		return fmt.Errorf("%w: %s %w", ErrServer, shown(c.nc.ConnectedUrl()), err)
	}
	if !c.nc.HeadersSupported() {
		return fmt.Errorf("%w: %s has headers of messages turned off", ErrServer, shown(c.nc.ConnectedUrl()))
	}
	err := c.patiently(ctx, func(ctx context.Context) error {
		_, err := c.js.AccountInfo(ctx)
		return err
	})
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled),
		errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("%w: %s has JetStream turned off, at least for this account", ErrServer,
			shown(c.nc.ConnectedUrl()))
	case err != nil:
		return fmt.Errorf("look for JetStream at %s: %w", shown(c.nc.ConnectedUrl()), err)
	}
	return nil
}

// checkVersion returns the reason why a version of the server does not do.
func checkVersion(version string, o Options) error {
	switch {
	case !atLeast(version, leastVersion):
		return fmt.Errorf("has version %s, the least is %s", version, leastVersion)
	case o.Replicas > 1 && !o.AllowOldServer && !atLeast(version, leastReplicated):
		return fmt.Errorf("has version %s, which can lose acknowledged messages with several replicas; the least is %s, "+
			"unless allow_old_server is set", version, leastReplicated)
	}
	return nil
}

// atLeast reports whether a version such as 2.10.0-beta.1 is not older than least. It takes a
// preview for the release.
func atLeast(version, least string) bool {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "-")
	have, want := strings.Split(version, "."), strings.Split(least, ".")
	for i := range want {
		if i >= len(have) {
			return false
		}
		h, err := strconv.Atoi(have[i])
		w, _ := strconv.Atoi(want[i])
		if err != nil || h != w {
			return err == nil && h > w
		}
	}
	return true
}

// patiently calls do, with a time limit for each attempt, until it succeeds, ctx ends, or it fails
// with an answer of the server that waiting does not change.
func (c *Cluster) patiently(ctx context.Context, do func(context.Context) error) error {
	for wait := pause; ; wait = min(2*wait, longestPause) {
		attempt, cancel := context.WithTimeout(ctx, 2*answerTime)
		err := do(attempt)
		cancel()
		if err == nil || !isTransient(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		case <-time.After(wait):
		}
	}
}

// IsLost reports whether an error says that a stream of the cluster does not exist any more: NATS has
// lost its data. A new start of the member makes the streams anew.
func IsLost(err error) bool {
	var answer *jetstream.APIError
	return errors.As(err, &answer) && answer.ErrorCode == jetstream.JSErrCodeStreamNotFound
}

// isTransient reports whether an error may be gone at the next attempt.
func isTransient(err error) bool {
	var answer *jetstream.APIError
	if !errors.As(err, &answer) {
		return !errors.Is(err, ErrServer) // no answer
	}
	return answer.ErrorCode == codeNotAvailable
}

// streams returns the configuration of all streams and buckets.
func (c *Cluster) streams() []jetstream.StreamConfig {
	log := func(
		what string, age time.Duration, bytes int64, discard jetstream.DiscardPolicy,
	) jetstream.StreamConfig {
		return jetstream.StreamConfig{Name: c.name(what), Subjects: []string{c.subject(what)},
			MaxAge: age, MaxBytes: bytes, Discard: discard}
	}
	all := []jetstream.StreamConfig{
		log(forPublications, publicationsAge, c.o.PublicationsBytes, jetstream.DiscardOld),
		log(forReturns, returnsAge, c.o.ReturnsBytes, jetstream.DiscardOld),
		log(forChunks, returnsAge, c.o.ReturnsBytes, jetstream.DiscardOld),
	}
	buckets := map[string]time.Duration{forKeys: 0, forLeases: 0, forFences: 0, forMembers: membersAge}
	for _, shelf := range shelves() {
		buckets[string(shelf)] = 0
	}
	for what, age := range buckets {
		b := c.bucket(what)
		all = append(all, jetstream.StreamConfig{Name: b.stream, Subjects: []string{b.subject(">")},
			MaxAge: age, MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, AllowRollup: true,
			DenyDelete: true})
	}
	for i := range all {
		all[i].Replicas = c.o.Replicas
		all[i].Storage = jetstream.FileStorage
		all[i].Duplicates = min(repeatWindow, max(all[i].MaxAge, 0))
		if all[i].MaxAge == 0 {
			all[i].Duplicates = repeatWindow
		}
	}
	return all
}

// ensure makes a stream unless it exists. One with fewer replicas than wanted gets more; one with
// more keeps them, and other differences stay as another member or an operator made them.
func (c *Cluster) ensure(ctx context.Context, want jetstream.StreamConfig) error {
	begin := time.Now()
	err := c.patiently(ctx, func(ctx context.Context) error {
		s, err := c.js.Stream(ctx, want.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			want.Metadata = map[string]string{identityKey: rand.Text()}
			s, err = c.js.CreateStream(ctx, want)
		}
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return fmt.Errorf("%w: another member is making the stream", ErrUnavailable)
		}
		if tooFew(err) && time.Since(begin) < gathering {
			return fmt.Errorf("%w: the servers have not found each other yet", ErrUnavailable)
		}
		if err != nil {
			return err
		}
		have := s.CachedInfo().Config
		if err := suits(have, want); err != nil {
			return err
		}
		if have.Replicas >= want.Replicas {
			return nil
		}
		have.Replicas = want.Replicas
		_, err = c.js.UpdateStream(ctx, have)
		return err
	})
	var answer *jetstream.APIError
	if errors.As(err, &answer) {
		err = fmt.Errorf("%w: %s", ErrServer, explain(answer, want))
	}
	if err != nil {
		return fmt.Errorf("make stream %s: %w", want.Name, err)
	}
	return nil
}

// gathering is how long servers that have just started may take to find each other.
const gathering = 10 * time.Second

// tooFew reports whether the servers that know each other are too few for the replicas of a stream.
func tooFew(err error) bool {
	var answer *jetstream.APIError
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.ErrorCode {
	case codeNoSuitablePeers, codePeersDoNotSatisfy, codeInsufficient:
		return true
	}
	return false
}

// suits checks that a stream of the same name is ours.
func suits(have, want jetstream.StreamConfig) error {
	switch {
	case len(have.Subjects) != 1 || have.Subjects[0] != want.Subjects[0]:
		return fmt.Errorf("%w: it exists for the subjects %v, wanted is %v", ErrServer, have.Subjects, want.Subjects)
	case have.MaxMsgsPerSubject != want.MaxMsgsPerSubject && want.MaxMsgsPerSubject != 0:
		return fmt.Errorf("%w: it exists and keeps %d messages of a subject, not %d", ErrServer,
			have.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	case have.Storage != want.Storage:
		return fmt.Errorf("%w: it exists and is not kept in files", ErrServer)
	case have.AllowDirect:
		return fmt.Errorf("%w: it exists and lets replicas answer with old values (allow_direct)", ErrServer)
	}
	return nil
}

// explain returns the reason why a server does not make a stream.
func explain(answer *jetstream.APIError, want jetstream.StreamConfig) string {
	switch answer.ErrorCode {
	case codeReplicasAlone:
		return fmt.Sprintf("%d replicas are wanted and the server is alone", want.Replicas)
	case codeNoSuitablePeers, codePeersDoNotSatisfy, codeInsufficient:
		return fmt.Sprintf("too few servers with JetStream and %d bytes of free storage for %d replicas (%s)",
			max(want.MaxBytes, 0), want.Replicas, answer.Description)
	case codeStorageExceeded, codeStorageOfAccount, codeMemoryExceeded, codeMaximumOfStream:
		return fmt.Sprintf("its storage cannot take %d bytes more (%s)", max(want.MaxBytes, 0), answer.Description)
	}
	return answer.Description
}
