/** A new element with that text: never markup, wherever the text is from. */
export function element(name, text, className = '') {
  const made = document.createElement(name)
  made.textContent = text
  made.className = className
  return made
}
