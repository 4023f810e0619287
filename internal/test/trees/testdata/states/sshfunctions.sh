# Functions of ssh, each twice, against a server of our own on loopback and what ssh-keygen says.
json() { salt-call --local --out json --out-indent=-1 -l quiet "$@"; }
twice() { want=$1; shift; test "$("$@")" = "$want"; test "$("$@")" = "$want"; }
text() { sed -z 's/\n*$//; s/\\/\\\\/g; s/"/\\"/g; s/\n/\\n/g' "$1"; }
port=24622

# keys of the host
keys=/var/tmp/sshfunctions
rm -rf $keys
mkdir -p $keys
ssh-keygen -q -t ed25519 -N '' -C host -f $keys/ssh_host_ed25519_key
twice "{\"local\": {\"ed25519.pub\": \"$(text $keys/ssh_host_ed25519_key.pub)\"}}" json ssh.host_keys keydir=$keys private=False
twice "{\"local\": {\"ed25519\": \"$(text $keys/ssh_host_ed25519_key)\", \"ed25519.pub\": \"$(text $keys/ssh_host_ed25519_key.pub)\"}}" json ssh.host_keys $keys

# keys of users
useradd -m sshfunctions
own=/home/sshfunctions/.ssh
mkdir -p $own
ssh-keygen -q -t ed25519 -N '' -C own -f $own/id_ed25519
ssh-keygen -q -t rsa -b 2048 -m PEM -N 'a phrase' -C other -f $own/id_rsa
twice "{\"local\": {\"sshfunctions\": {\"id_rsa.pub\": \"$(text $own/id_rsa.pub)\", \"id_ed25519.pub\": \"$(text $own/id_ed25519.pub)\"}}}" json ssh.user_keys sshfunctions prvfile=False
twice "{\"local\": {\"sshfunctions\": {\"id_ed25519\": \"$(text $own/id_ed25519)\"}}}" json ssh.user_keys user=sshfunctions prvfile=id_ed25519 pubfile=False
twice '{"local": true}' json ssh.key_is_encrypted $own/id_rsa
twice '{"local": false}' json ssh.key_is_encrypted $own/id_ed25519

# keys that a server shows
mkdir -p /run/sshd
/usr/sbin/sshd -f /dev/null -p $port -o ListenAddress=127.0.0.1 -o HostKey=$keys/ssh_host_ed25519_key -o PidFile=$keys/pid
key=$(cut -d ' ' -f 2 $keys/ssh_host_ed25519_key.pub)
print=$(ssh-keygen -l -E md5 -f $keys/ssh_host_ed25519_key.pub | cut -d ' ' -f 2 | cut -c 5-)
for _ in 1 2; do
	json ssh.recv_known_host_entries 127.0.0.1 port=$port enc=ed25519 hash_known_hosts=False fingerprint_hash_type=md5 > $keys/got
	grep -F "\"key\": \"$key\"" $keys/got
	grep -F "\"fingerprint\": \"$print\"" $keys/got
	grep -F "\"hostname\": \"[127.0.0.1]:$port\"" $keys/got
done
twice '{"local": null}' json ssh.recv_known_host_entries 127.0.0.1 port=24623 timeout=1

# a host becomes known, and is forgotten
present() { json state.single ssh_known_hosts.present name=127.0.0.1 user=sshfunctions port=$port enc=ed25519 fingerprint_hash_type=md5 hash_known_hosts=False "$@"; }
present fingerprint="$print" test=True | grep '"result": null'
not test -e $own/known_hosts
present fingerprint="$print" | grep '"result": true'
grep -F "[127.0.0.1]:$port ssh-ed25519 $key" $own/known_hosts
present fingerprint="$print" > $keys/again
grep '"result": true' $keys/again
grep '"changes": {}' $keys/again
wrong=$(printf '00:%.0s' $(seq 15))00
not present fingerprint=$wrong > $keys/wrong
grep '"result": false' $keys/wrong
grep 'Remote host public keys found but none of their fingerprints match the one you have provided' $keys/wrong
absent() { json state.single ssh_known_hosts.absent name="[127.0.0.1]:$port" user=sshfunctions; }
absent | grep '"result": true'
not grep -F "$key" $own/known_hosts
absent | grep '"changes": {}'
kill "$(cat $keys/pid)"
userdel -r sshfunctions
