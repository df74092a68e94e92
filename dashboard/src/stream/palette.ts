// A colour for each function, the same at every visit: it follows from the name. Failures are marked by shape too, so that nothing is
// told by colour alone.

const LIGHT = ["#3b6fd4", "#0f8f83", "#b9711a", "#8a5cc7", "#4f8a2f", "#c0567e", "#2a88a8", "#94731f", "#6a6fc0", "#a85a48"];
const DARK = ["#6f9bf0", "#3fb8a9", "#d9964a", "#ac85e0", "#7fb45c", "#dd82a3", "#56b3d1", "#bfa04c", "#9498e0", "#cf8876"];

/** FNV-1a over the name's UTF-16 units. */
export function colourIndex(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i += 1) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % LIGHT.length;
}

export function functionColour(name: string, dark: boolean): string {
  return (dark ? DARK : LIGHT)[colourIndex(name)] as string;
}
