// The certificate of `weir dev --tls`: created once for each user, by mkcert if it is installed, and otherwise self-signed.

import { spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

import { selfSigned } from './self-signed.ts'

/** Where a certificate and its key are, in PEM. */
export interface CertificateFiles {
  readonly key: string
  readonly cert: string
}

/** No client accepts a wildcard such as `*.localhost`, above which there is nothing. */
const NAMES = ['localhost']
const ADDRESSES: readonly (readonly [text: string, bytes: Uint8Array])[] = [
  ['127.0.0.1', Uint8Array.of(127, 0, 0, 1)],
  ['::1', Uint8Array.of(...Array<number>(15).fill(0), 1)],
]
/** A certificate that ends sooner is replaced. */
const LEAST_LEFT_MS = 7 * 86_400_000

/** @param env of the process @returns the folder of the user for certificates of development */
export function certificateFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const stated = process.platform === 'win32' ? env['LOCALAPPDATA'] : env['XDG_STATE_HOME']
  return join(stated !== undefined && isAbsolute(stated) ? stated : join(homedir(), '.local', 'state'), 'weir', 'tls')
}

/**
 * The certificate in `folder`, which is made if there is none, if it ends soon, if others may have read its key, or if mkcert can make one that is
 * trusted.
 * @param tell called with what the developer should know about it
 * @throws the system's error
 */
export function certificateIn(folder: string, tell: (text: string) => void, now: number = Date.now()): CertificateFiles {
  const files = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') }
  const known = isOwn(files.key) ? readCertificate(files.cert) : null
  const lasts = known !== null && Date.parse(known.validTo) - now > LEAST_LEFT_MS
  if (lasts && known.issuer !== known.subject) return files // of mkcert
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (makeTrusted(files)) {
    tell(`made a certificate with mkcert, in ${folder}`)
    return files
  }
  if (!lasts) {
    const { key, cert } = selfSigned(
      NAMES,
      ADDRESSES.map(([, bytes]) => bytes),
      now,
    )
    replace(files.key, key, 0o600)
    replace(files.cert, cert, 0o644)
  }
  tell(
    `the certificate in ${folder} is signed by itself, so browsers warn of it. To have one that they trust, install mkcert and run mkcert -install`,
  )
  return files
}

/** Whether no one else can have read it. */
function isOwn(path: string): boolean {
  try {
    const { uid, mode } = lstatSync(path)
    return process.getuid === undefined || (uid === process.getuid() && (mode & 0o077) === 0)
  } catch {
    return false
  }
}

function readCertificate(path: string): X509Certificate | null {
  try {
    return new X509Certificate(readFileSync(path))
  } catch {
    return null
  }
}

/** Uses mkcert, if it is installed and has an authority, which `mkcert -install` creates and makes browsers trust. */
function makeTrusted({ key, cert }: CertificateFiles): boolean {
  const { stdout, status } = spawnSync('mkcert', ['-CAROOT'], { encoding: 'utf8' })
  if (status !== 0 || readCertificate(join(stdout.trim(), 'rootCA.pem')) === null) return false
  const [newKey, newCert] = [`${key}.new`, `${cert}.new`]
  replace(newKey, '', 0o600) // so that no one can open the file before it has its key
  const made = spawnSync('mkcert', ['-key-file', newKey, '-cert-file', newCert, ...NAMES, ...ADDRESSES.map(([text]) => text)])
  if (made.status !== 0 || !isOwn(newKey) || readCertificate(newCert) === null) {
    for (const path of [newKey, newCert]) rmSync(path, { force: true })
    return false
  }
  renameSync(newKey, key)
  renameSync(newCert, cert)
  return true
}

/** The file never has the rights of the file that it replaces. */
function replace(path: string, text: string, mode: number): void {
  rmSync(path, { force: true })
  writeFileSync(path, text, { mode, flag: 'wx' })
}
