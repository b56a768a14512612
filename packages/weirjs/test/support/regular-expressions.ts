// All regular expressions of a folder, each with the file in which it stands.

import { readdirSync, readFileSync } from 'node:fs'

import { parseSync } from 'rolldown/utils'

export interface FoundExpression {
  readonly file: string
  readonly pattern: string
  readonly flags: string
}

export function expressionsIn(root: string): FoundExpression[] {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  )
  return files.flatMap((file) =>
    literalsOf(parseSync(file, readFileSync(`${root}/${file}`, 'utf8')).program).map((one) => ({ file: `${root}/${file}`, ...one })),
  )
}

function literalsOf(node: unknown): { pattern: string; flags: string }[] {
  if (typeof node !== 'object' || node === null) return []
  const { regex } = node as { readonly regex?: { readonly pattern: string; readonly flags: string } }
  if (regex !== undefined) return [{ pattern: regex.pattern, flags: regex.flags }]
  return Object.values(node).flatMap(literalsOf)
}
