// Writes the files of a template to a new folder.

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

import { packageNameOf, type Template, UsageError } from './answers.ts'

/** npm leaves `.gitignore` out of packages, so templates have it under another name. */
const RENAMED = { gitignore: '.gitignore', dockerignore: '.dockerignore' }

/**
 * @param templates the folder of all templates
 * @param version of weirjs, on which the program will depend
 * @returns the absolute path of the new folder
 * @throws UsageError if the folder has files
 */
export function createProgram(folder: string, template: Template, templates: string, version: string): string {
  const to = resolve(folder)
  if (existsSync(to) && readdirSync(to).some((name) => name !== '.git')) throw new UsageError(`${folder} is not empty`)
  mkdirSync(to, { recursive: true })
  cpSync(join(templates, 'shared'), to, { recursive: true })
  cpSync(join(templates, template), to, { recursive: true })
  for (const [from, name] of Object.entries(RENAMED)) if (existsSync(join(to, from))) renameSync(join(to, from), join(to, name))
  const name = packageNameOf(to)
  for (const file of ['package.json', 'README.md', 'src/main.ts', 'src/client.ts']) {
    const path = join(to, file)
    if (!existsSync(path)) continue
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('{{name}}', name).replaceAll('{{version}}', version))
  }
  return to
}
