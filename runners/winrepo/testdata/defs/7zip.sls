7zip:
  '22.01.00.0':
    full_name: '7-Zip 22.01 (x64 edition)'
    installer: 'https://example.org/7z2201-x64.msi'
    install_flags: '/qn /norestart'
    uninstaller: 'https://example.org/7z2201-x64.msi'
    msiexec: True
    locale: en_US
    reboot: False
  9.20:
    full_name: '7-Zip 9.20'
    installer: salt://win/7z920.msi
    msiexec: False
