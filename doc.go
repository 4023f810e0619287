// Package brine is the root of Brine: Salt's master, minion and command line in Go.
//
// It contains no code, only tests of the architecture: which package may import which, and how
// large the small minion may grow. Start reading in docs/architecture.md, or follow one command
// through the code: cmd/salt, cli, client, transport/zeromq, channel, master.
package brine
