// Package testcluster runs several salt-master processes for tests, on loopback, each with its own
// directories and ports.
//
// The masters share the key of a master, so that minions trust all of them. They belong to a cluster
// if the test gives the option for it, and are alone otherwise. Each can be killed, stopped,
// continued, ended and started again; such an action returns once it has shown its effect, or an
// error. Orders go to a chosen master, through the client in the test or the program salt.
//
// Package testcluster/history judges what was observed in a run, and testcluster/faults makes and
// plays schedules of faults.
package testcluster
