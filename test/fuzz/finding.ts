// Inputs as text files, so that people can read, compare and edit them: corpus/<target>/*.txt and findings/*.txt.
//
// Bytes are written as ASCII with \r, \n, \t, \\ and \xNN; the file's own line ends have no meaning. A finding has lines before `>>>`:
//
//   # what was broken
//   target multipart
//   variant 17                  seeds the choices that the check makes: cuts, limits
//   todo -- reason              optional: known and not mended yet; the test runs it and lets it fail

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'

const CORPUS = 'test/fuzz/corpus'
const FINDINGS = 'test/fuzz/findings'

export interface Finding {
  /** File name without its extension. */
  readonly name: string
  readonly target: string
  readonly variant: number
  readonly input: Buffer
  /** What was broken when it was found. */
  readonly what: string
  /** Why it may fail, or null. */
  readonly todo: string | null
}

/** The inputs with which the mutations of a target begin, in addition to those that it creates itself. */
export function readCorpus(target: string): Buffer[] {
  const folder = `${CORPUS}/${target}`
  if (!existsSync(folder)) return []
  return listOf(folder).map((file) => bytesOf(readFileSync(`${folder}/${file}`, 'utf8')))
}

export function readFindings(): Finding[] {
  return listOf(FINDINGS).map((file) => parseFinding(file.slice(0, -'.txt'.length), readFileSync(`${FINDINGS}/${file}`, 'utf8')))
}

/** @throws for a file that is not a finding, because one that is silently skipped would prove nothing */
export function parseFinding(name: string, text: string): Finding {
  const [before, bytes] = text.split(/^>>>\n/m) as [string, string | undefined]
  const target = /^target (\S+)$/m.exec(before)?.[1]
  const variant = /^variant (\d+)$/m.exec(before)?.[1]
  if (bytes === undefined || target === undefined || variant === undefined) throw new Error(`${name}: no target, variant or ">>>"`)
  const what = /^# (.*)$/m.exec(before)?.[1] ?? ''
  const todo = /^todo -- (.+)$/m.exec(before)?.[1] ?? null
  return { name, target, variant: Number(variant), input: bytesOf(bytes), what, todo }
}

/** @returns the path of the file */
export function saveFinding({ name, target, variant, input, what }: Omit<Finding, 'todo'>): string {
  const path = `${FINDINGS}/${name}.txt`
  mkdirSync(FINDINGS, { recursive: true })
  writeFileSync(path, `# ${what.replaceAll('\n', ' ')}\ntarget ${target}\nvariant ${variant}\n>>>\n${textOf(input)}`)
  return path
}

/** A line of the text ends where a line of the bytes ends. */
export function textOf(bytes: Buffer): string {
  const escaped = bytes.toString('latin1').replace(/[^ -[\]-~]|^ | $/g, (char) => {
    const code = char.charCodeAt(0)
    return { '\r': '\\r', '\n': '\\n\n', '\t': '\\t', '\\': '\\\\' }[char] ?? `\\x${code.toString(16).padStart(2, '0')}`
  })
  return escaped.endsWith('\n') ? escaped : `${escaped}\n`
}

export function bytesOf(text: string): Buffer {
  const plain = text.replace(/\r?\n|\\(?:x([0-9a-f]{2})|(.))/gi, (found, hex?: string, letter?: string) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
    if (letter === undefined) return ''
    const char = { r: '\r', n: '\n', t: '\t', '\\': '\\' }[letter]
    if (char === undefined) throw new Error(`${found} is not an escape`)
    return char
  })
  return Buffer.from(plain, 'latin1')
}

function listOf(folder: string): string[] {
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((file) => file.endsWith('.txt'))
        .sort()
    : []
}
