// Finds a long text in another one in time that grows with both lengths, and not with their product.
//
// The search of V8 looks ahead by the last 250 characters of what it seeks. If these characters repeat and the text before them differs, it
// compares all of them again for each character. Half a megabyte took minutes, and clients choose both texts.

/** V8 takes linear time for texts of up to this length. */
const SHORT = 250

/** Replaces each occurrence of `sought` in `text`, from the left, like `replaceAll`. @param replacementOf called where there is one */
export function replaceEach(text: string, sought: string, replacementOf: (sought: string) => string): string {
  const first = text.indexOf(sought.slice(0, SHORT))
  if (first === -1) return text
  const replacement = replacementOf(sought)
  return sought.length <= SHORT ? text.replaceAll(sought, () => replacement) : replaceLong(text, sought, replacement, first)
}

/** By Knuth, Morris and Pratt. @param from where the first occurrence may begin */
function replaceLong(text: string, sought: string, replacement: string, from: number): string {
  const borders = bordersOf(sought)
  let result = ''
  let kept = 0
  let matched = 0
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i)
    while (matched > 0 && sought.charCodeAt(matched) !== code) matched = borders[matched - 1]!
    if (sought.charCodeAt(matched) === code) matched++
    if (matched < sought.length) continue
    result += text.slice(kept, i + 1 - matched) + replacement
    kept = i + 1
    matched = 0
  }
  return result + text.slice(kept)
}

/** For each prefix of `text`, the length of its longest proper prefix that is also its suffix. */
function bordersOf(text: string): Int32Array {
  const borders = new Int32Array(text.length)
  let length = 0
  for (let i = 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    while (length > 0 && text.charCodeAt(length) !== code) length = borders[length - 1]!
    if (text.charCodeAt(length) === code) length++
    borders[i] = length
  }
  return borders
}
