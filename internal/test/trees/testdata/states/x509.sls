{% set pki = '/etc/x509-trees' %}

{{ pki }}:
  file.directory:
    - mode: 755

{{ pki }}/ca.key:
  x509.private_key_managed:
    - bits: 2048
    - mode: 600
    - require:
      - file: {{ pki }}

{{ pki }}/ca.crt:
  x509.certificate_managed:
    - signing_private_key: {{ pki }}/ca.key
    - CN: Käse CA
    - O: Example
    - C: DE
    - basicConstraints: "critical CA:true"
    - keyUsage: "critical cRLSign, keyCertSign"
    - subjectKeyIdentifier: hash
    - authorityKeyIdentifier: keyid,issuer:always
    - days_valid: 3650
    - days_remaining: 0
    - mode: 644
    - require:
      - x509: {{ pki }}/ca.key

{{ pki }}/www/www.key:
  x509.private_key_managed:
    - bits: 2048
    - passphrase: geheim
    - cipher: aes_256_cbc
    - user: www-data
    - group: www-data
    - mode: 640
    - makedirs: True
    - dir_mode: 750
    - require:
      - x509: {{ pki }}/ca.crt

{{ pki }}/www/www.crt:
  x509.certificate_managed:
    - public_key: {{ pki }}/www/www.key
    - public_key_passphrase: geheim
    - signing_private_key: {{ pki }}/ca.key
    - signing_cert: {{ pki }}/ca.crt
    - CN: www.example.com
    - keyUsage: "critical digitalSignature, keyEncipherment"
    - extendedKeyUsage: serverAuth
    - subjectAltName: "DNS:www.example.com, IP:10.0.0.1"
    - subjectKeyIdentifier: hash
    - authorityKeyIdentifier: keyid
    - append_certs:
      - {{ pki }}/ca.crt
    - user: www-data
    - backup: True
    - require:
      - x509: {{ pki }}/www/www.key

{{ pki }}/mail.key:
  x509.private_key_managed:
    - require:
      - x509: {{ pki }}/ca.crt

{{ pki }}/mail.csr:
  x509.csr_managed:
    - private_key: {{ pki }}/mail.key
    - CN: mail.example.com
    - subjectAltName: DNS:mail.example.com
    - require:
      - x509: {{ pki }}/mail.key

{{ pki }}/mail.crt:
  x509.certificate_managed:
    - csr: {{ pki }}/mail.csr
    - signing_private_key: {{ pki }}/ca.key
    - signing_cert: {{ pki }}/ca.crt
    - authorityKeyIdentifier: keyid
    - subjectKeyIdentifier: hash
    - require:
      - x509: {{ pki }}/mail.csr

{{ pki }}/ca.crl:
  x509.crl_managed:
    - signing_private_key: {{ pki }}/ca.key
    - signing_cert: {{ pki }}/ca.crt
    - digest: sha256
    - revoked:
      - mail:
        - certificate: {{ pki }}/mail.crt
        - reason: keyCompromise
      - gone:
        - serial_number: D6:D2:DC:D8:4D:5C:C0:F4
        - revocation_date: 2015-02-25 00:00:00
    - require:
      - x509: {{ pki }}/mail.crt
      - x509: {{ pki }}/www/www.crt
