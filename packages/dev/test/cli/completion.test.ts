// The shells themselves read the scripts of `weir completion`.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { test } from 'node:test'

import { completionOf, parseCommand, usageOf } from '../../src/cli/arguments.ts'

const without = (shell: string) => (spawnSync(shell, ['--version']).status === 0 ? false : `no ${shell} on this machine`)

/** @param line as typed so far, after `weir` */
function inBash(...line: string[]): string[] {
  const script = `${completionOf('bash')}
COMP_WORDS=(weir "$@"); COMP_CWORD=$#; _weir weir "\${!#}"; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', script, 'bash', ...line], { encoding: 'utf8' })
    .trim()
    .split('\n')
}

test('bash completes commands, the options of each, and leaves files to itself', { skip: without('bash') }, () => {
  assert.deepEqual(inBash(''), [...['routes', 'explain', 'limits', 'openapi', 'types', 'dev', 'completion'], '--help', '--version'])
  assert.deepEqual(inBash('ro'), ['routes'])
  assert.deepEqual(inBash('routes', 'app.js', '--'), ['--json', '--export', '--help'])
  assert.deepEqual(inBash('dev', 'app.js', '--t'), ['--tls'])
  assert.deepEqual(inBash('explain', 'app.js', '-H'), ['-H'])
  assert.deepEqual(inBash('completion', ''), ['bash', 'zsh', 'fish'])
  assert.deepEqual(inBash('routes', 'ap'), [''])
})

test('fish completes commands and the options of each', { skip: without('fish') }, () => {
  const inFish = (line: string) =>
    execFileSync('fish', ['--no-config', '-c', `${completionOf('fish')}\ncomplete -C ${JSON.stringify(`weir ${line}`)}`], {
      encoding: 'utf8',
    })
  assert.equal(inFish('rout'), 'routes\tlists the routes of a program\n')
  assert.match(inFish('dev app.js --'), /^--grace\thow long requests/m)
  assert.match(inFish('dev app.js --li'), /^--listen\ta socket to pass to a program with listen: 'inherited'/)
  assert.doesNotMatch(inFish('routes app.js --'), /grace/)
  assert.equal(inFish('completion ').split('\n').filter(Boolean).sort().join(), 'bash,fish,zsh')
})

test('zsh reads its script, and knows the function for weir', { skip: without('zsh') }, () => {
  const script = `autoload -Uz compinit && compinit -D -u\n${completionOf('zsh')}\nprint -r -- $_comps[weir]`
  assert.equal(execFileSync('zsh', ['-f', '-c', script], { encoding: 'utf8' }).trim(), '_weir')
  assert.match(
    completionOf('zsh'),
    /'\*--listen\[a socket to pass to a program with listen: '\\''inherited'\\''; may be repeated\]:value:_files'/,
  )
})

test('every option that the help of a command lists is completed in each shell', () => {
  for (const name of ['routes', 'explain', 'limits', 'openapi', 'types', 'dev']) {
    const listed = [...usageOf(name).matchAll(/--[a-z]+/g)].map(([option]) => option)
    for (const shell of ['bash', 'zsh', 'fish'] as const)
      for (const option of listed)
        assert.ok(completionOf(shell).includes(shell === 'fish' ? ` -l ${option.slice(2)}` : option), `${shell} ${name} ${option}`)
  }
})

test('completion needs a shell that it knows', () => {
  assert.deepEqual(parseCommand(['completion', 'zsh']), { name: 'completion', shell: 'zsh' })
  assert.deepEqual(parseCommand(['completion', '--help']), { name: 'help', topic: 'completion' })
  for (const given of [['completion'], ['completion', 'tcsh'], ['completion', 'bash', 'zsh']])
    assert.throws(() => parseCommand(given), /which shell\? bash, zsh or fish/)
})
