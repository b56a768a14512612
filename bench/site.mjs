// The content of w12f: a folder with the files of a web page. The sizes are those of HttpArena's static profile: 20 files, 840 KiB. Text
// files also have a .br and a .gz version.
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

import { seededNumbers } from './message.mjs'

const below = seededNumbers(0x51e7)
const KIB = 1024

function word() {
  return Array.from({ length: 3 + below(7) }, () => 'etaoinshrdlucmfwypvbgkjqxz'[below(26) % (1 + below(26))]).join('')
}

const KINDS = [
  { type: 'text/css', isText: true, files: { reset: 8, layout: 10, theme: 14, components: 20, utilities: 60 }, extension: 'css' },
  { type: 'text/javascript', isText: true, files: { analytics: 12, helpers: 15, router: 20, app: 40, vendor: 300 }, extension: 'js' },
  { type: 'text/html', isText: true, files: { header: 55, footer: 120 }, extension: 'html' },
  { type: 'font/woff2', isText: false, files: { regular: 18, bold: 22 }, extension: 'woff2' },
  { type: 'image/svg+xml', isText: true, files: { logo: 15, 'icon-sprite': 70 }, extension: 'svg' },
  { type: 'image/webp', isText: false, files: { hero: 45, thumb1: 6, thumb2: 8 }, extension: 'webp' },
  { type: 'application/json', isText: true, files: { manifest: 3 }, extension: 'json' },
]

/** { name, type, isText, bytes } */
export const FILES = KINDS.flatMap(({ type, isText, files, extension }) =>
  Object.entries(files).map(([stem, kib]) => ({ name: `${stem}.${extension}`, type, isText, bytes: contentOf(kib * KIB, isText) })),
)

function contentOf(size, isText) {
  if (!isText) return Buffer.from(Array.from({ length: size }, () => below(256)))
  const words = Array.from({ length: 400 }, word)
  let text = ''
  while (text.length < size) text += `${words[below(400) % (1 + below(400))]}${[' ', ' ', ';\n', ': '][below(4)]}`
  return Buffer.from(text.slice(0, size))
}

/** Writes all files. They are removed when this process exits. @returns the folder */
export function keepSite() {
  const folder = mkdtempSync(join(tmpdir(), 'weir-bench-site-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(folder, { recursive: true })
  const write = (name, bytes) => {
    writeFileSync(join(folder, name), bytes)
    utimesSync(join(folder, name), 1e9, 1e9)
  }
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 }
  for (const { name, isText, bytes } of FILES) {
    write(name, bytes)
    if (!isText) continue
    write(`${name}.gz`, gzipSync(bytes, { level: 9 }))
    write(`${name}.br`, brotliCompressSync(bytes, { params }))
  }
  return folder
}
