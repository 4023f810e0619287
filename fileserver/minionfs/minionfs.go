// Package minionfs keeps the files that minions push to their master with cp.push, and serves them to other minions
// (salt/fileserver/minionfs.py; salt/master.py, AESFuncs._file_recv).
package minionfs
