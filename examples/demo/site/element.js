/** A new element with this text, which is never parsed as markup, wherever it comes from. */
export function element(name, text, className = '') {
  const made = document.createElement(name)
  made.textContent = text
  made.className = className
  return made
}
