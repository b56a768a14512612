// A table of text. A column without any text is left out, and no line ends with blanks.

export function tableOf(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const columns = titles.map((_, i) => i).filter((i) => rows.some((row) => row[i] !== ''))
  const widthOf = (i: number): number => Math.max(...[titles, ...rows].map((row) => row[i]!.length))
  const widths = columns.map(widthOf)
  const lineOf = (row: readonly string[]): string =>
    columns
      .map((i, at) => row[i]!.padEnd(widths[at]!))
      .join('  ')
      .trimEnd()
  return [titles, ...rows].map(lineOf).join('\n')
}
