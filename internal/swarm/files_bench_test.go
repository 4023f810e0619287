package swarm_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/swarm"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// BenchmarkFiles makes 20 clients download a file of 100 MiB each from a master, all on this
// machine, over real sockets. The metric ×crypto is the speed relative to that of the bare
// cryptography on all processors of this machine, with the standard library: AES-192-CBC and
// HMAC-SHA256 over each byte, once to encrypt and once to decrypt.
func BenchmarkFiles(b *testing.B) {
	const clients, size = 20, 100 << 20
	master := fileMaster(b, bytes.Repeat([]byte("0123456789abcdef"), size/16))
	wire, err := cli.MinionWire(config.DefaultMinion())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(clients * size)
	var took, bare time.Duration
	for b.Loop() {
		bare += bareCrypto(clients * size)
		s, err := swarm.New(swarm.Options{Count: clients, Prefix: "web", Master: master.Address,
			Keys: swarm.Keys{Distinct: 1}, Load: clients, Fetch: "big",
			Ports: swarm.Ports{Request: wire.Request, Subscribe: wire.Subscribe}, Log: master.Log})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		<-s.Ready()
		began := time.Now()
		<-s.Loaded()
		took += time.Since(began)
		cancel()
		if err := <-done; err != nil || s.Stats.Fetched.Load() != clients*size {
			b.Fatal(err, s.Stats.Fetched.Load())
		}
	}
	b.ReportMetric(float64(bare)/float64(took), "×crypto")
	b.ReportMetric(float64(b.N*clients*size)/took.Seconds()/1e6, "transfer-MB/s")
	b.ReportMetric(float64(b.N*clients*size)/bare.Seconds()/1e6, "crypto-MB/s")
}

// fileMaster starts a master that serves content as salt://big.
func fileMaster(tb testing.TB, content []byte) *testsalt.Master {
	tb.Helper()
	dir := testsalt.Dir(tb)
	srv := filepath.Join(dir, "srv")
	if err := os.MkdirAll(srv, 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(srv, "big"), content, 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "master"),
		[]byte("root_dir: "+dir+"\nfile_roots: {base: ["+srv+"]}\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	cfg, _, err := config.LoadMaster(dir, nil)
	if err != nil {
		tb.Fatal(err)
	}
	base := testsalt.MasterConfig(dir)
	cfg.Interface, cfg.PublishPort, cfg.RetPort, cfg.AutoAccept, cfg.PidFile,
		cfg.User = base.Interface, 0, 0, true, "", base.User
	cfg.PKIDir, cfg.CacheDir, cfg.SockDir = base.PKIDir, base.CacheDir, base.SockDir
	return testsalt.StartMaster(tb, cfg)
}

// bareCrypto returns how long all processors take to encrypt and decrypt n bytes with the standard
// library, in pieces of 1 MiB in preallocated memory.
func bareCrypto(n int64) time.Duration {
	const piece = 1 << 20
	var left atomic.Int64
	left.Store(n / piece)
	var group sync.WaitGroup
	began := time.Now()
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			block, _ := aes.NewCipher(make([]byte, 24)) // the size is a valid one
			iv, body := make([]byte, aes.BlockSize), make([]byte, piece)
			mac, sum := hmac.New(sha256.New, make([]byte, 32)), make([]byte, 0, sha256.Size)
			for left.Add(-1) >= 0 {
				cipher.NewCBCEncrypter(block, iv).CryptBlocks(body, body)
				mac.Reset()
				mac.Write(body)
				mac.Sum(sum)
				mac.Reset()
				mac.Write(body)
				mac.Sum(sum)
				cipher.NewCBCDecrypter(block, iv).CryptBlocks(body, body)
			}
		})
	}
	group.Wait()
	return time.Since(began)
}
