cd /etc/x509-trees
openssl verify -x509_strict -crl_check -CRLfile ca.crl -CAfile ca.crt www/www.crt
if openssl verify -crl_check -CRLfile ca.crl -CAfile ca.crt mail.crt; then exit 1; fi
openssl verify -CAfile ca.crt mail.crt
openssl crl -in ca.crl -noout -text | grep -q 'Key Compromise'
openssl req -in mail.csr -noout -verify
openssl x509 -in mail.crt -noout -ext subjectAltName | grep -q DNS:mail.example.com
openssl x509 -in www/www.crt -noout -text | grep -q 'DNS:www.example.com, IP Address:10.0.0.1'
test "$(openssl rsa -in www/www.key -passin pass:geheim -pubout)" = "$(openssl x509 -in www/www.crt -noout -pubkey)"
test "$(grep -c 'BEGIN CERTIFICATE' www/www.crt)" = 2
test "$(stat -c %a:%U:%G www/www.key)" = 640:www-data:www-data
test "$(stat -c %a mail.key)" = 600
test "$(stat -c %a www)" = 750
