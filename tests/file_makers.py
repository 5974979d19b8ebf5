"""Small files of many formats, for tests of reading and writing."""

import base64
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


def xlsx(path: Path, sheets: Mapping[str, Sequence[Sequence[Any]]], touch: Callable[[Any], None] | None = None) -> Path:
    """A workbook with these cells; ``touch`` may do more to it."""
    import datetime as dt

    import xlsxwriter

    workbook = xlsxwriter.Workbook(str(path))
    day = workbook.add_format({"num_format": "yyyy-mm-dd"})
    for name, rows in sheets.items():
        sheet = workbook.add_worksheet(name)
        for row, cells in enumerate(rows):
            for column, cell in enumerate(cells):
                if isinstance(cell, dt.date):
                    sheet.write_datetime(row, column, cell, day)
                elif cell is not None:
                    sheet.write(row, column, cell)
    if touch is not None:
        touch(workbook)
    workbook.close()
    return path


def ods(path: Path, rows: Sequence[Sequence[Any]]) -> Path:
    """An OpenDocument sheet of numbers and texts."""
    cells = "".join(
        "<table:table-row>"
        + "".join(
            f'<table:table-cell office:value-type="float" office:value="{cell}"/>'
            if isinstance(cell, int | float)
            else f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>'
            for cell in row
        )
        + "</table:table-row>"
        for row in rows
    )
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {names}><office:body><office:spreadsheet>'
        f'<table:table table:name="one">{cells}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    manifest = (
        '<?xml version="1.0"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", manifest)
        archive.writestr("content.xml", content)
    return path


def xlsb(path: Path, rows: Sequence[Sequence[Any]]) -> Path:
    """A binary workbook of numbers and texts: the fewest records that make one ([MS-XLSB] 2.1.7)."""

    def record(kind: int, content: bytes = b"") -> bytes:
        head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
        size, length = b"", len(content)
        while True:
            size += bytes([length & 0x7F | (0x80 if length > 127 else 0)])
            length >>= 7
            if not length:
                return head + size + content

    def text(value: str) -> bytes:
        return struct.pack("<I", len(value)) + value.encode("utf-16-le")

    cells = b""
    for number, row in enumerate(rows):
        cells += record(0, struct.pack("<IIHHBI", number, 0, 0x12C, 0, 0, 0))
        for place, cell in enumerate(row):
            where = struct.pack("<II", place, 0)
            cells += (
                record(6, where + text(cell)) if isinstance(cell, str) else record(5, where + struct.pack("<d", cell))
            )
    last = struct.pack("<IIII", 0, len(rows) - 1, 0, max(map(len, rows)) - 1)
    sheet = record(129) + record(148, last) + record(145) + cells + record(146) + record(130)
    book = record(131) + record(143) + record(156, struct.pack("<II", 0, 1) + text("rId1") + text("one")) + record(144)
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.bin", book + record(132))
        archive.writestr(
            "xl/_rels/workbook.bin.rels",
            '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f'<Relationship Id="rId1" Type="{relation}/worksheet" Target="worksheets/sheet1.bin"/></Relationships>',
        )
        archive.writestr("xl/worksheets/sheet1.bin", sheet)
    return path


def packed(path: Path, text: str) -> Path:
    """A file that is kept here in text."""
    path.write_bytes(zlib.decompress(base64.b85decode(text)))
    return path


OLD_XLS = (
    "c-rk)O=uHA6#izDG(WcaGZk7Pgo0ITdJr#O>e`C-WT_rhM9{<yB5gJjyu^c6YmS28N%2ysf(NT2_=5_1^B`38AP7RDM^6O>4{g@>UUoI96&l"
    "b&%YI?LnRzqc%*)R2?%UZ|W$Hn96^pP79@MNL+8S(%LeR-XLFJakNhc0auw1Mv1OqgXZ9Y8fc;n|W<ngXT!+q~7V&F4{V>pA6f|*OLAcn+;j"
    "A9=Kh!t*<C5$fdDlU9dc)jpFsrg)Zw^*(S4^Z8TI*M6+q;ID^i;rkMQWgfc`&cv|#j+ipc+Io;!c|qT>%(C2bY^^&6(qgwm<A2#aL&vXIUm6"
    "-gn$yEKcDY6j0zGo*wgrKrGRhFs(zVr?JH|nAp4JIyZ<lt01e_|`!&rAOu#xJi=>Qoh<mxjgTlBmkF>044rDbm`J4yHoMJXICE`KTBpxbcY5"
    "MOeg?NXT9U<DZBXr10X(u)ik#tPfOO#xizccr4e|A(qE|v*71?p$TCUy-LF0z8eVJQ*s$UUG>6x)O^Nvj(r-7TD;$xLzYXs4anHz{>4OKC6l"
    "vqSJ+-`tSiLh16?15c9WFZxzW&kR@3C1yV8Q|O_y%OE}fCXrTYb>lkYsqVze-d8>ecm1))1hlB_yJa7U5iIbkBE*F2Iet3oS5C8^6|2<}Y9("
    "rZ9xteWCF<L<#~r$>k&<=V5;{$EURzfmlcea*KXh~+@upel5uK0EcrA`c+zjoQzY&597cN}5aN)v*i?s_SH`MxlobQr8`^N9Lzw0besJWj>)"
    "+`R9K)<u}Qn?o<#YL1_nm-%hQ%+lInHuMNA>%OhUc?x(;>TFa^OxRyROA0ywlMndmQbtx*IM!OKllF=!#&t@"
)
"""A workbook of Excel 97: name, age, day; Ann 41 2020-01-31, Bob 7 2021-02-28, Cy without either."""
LOCKED_XLSX = (
    "c-rk(O>7%Q7@f39+Jv^WrKF{##Vk@UQM0yVJ5FV%Y@9fDY$tK;II$&=*8AtRy+7GqJK0nf5)uWeLIQCBQ7GyGsfZ$!OHrYM6QV+>Ef>Ur3Xn"
    "jE3zQ2t8ossHsh$2{r$w}4pY=T6nVos_ec#*J<jUn8Kb&6P`y*O|VYCrlU+F@fb$xBX4YiBy)oX*-S5{VP-76LzDEtL9>bDVU*KXF*sQD(~X"
    "7jom+J}H!fLnpvfDczKfOY_P0v|E&weVn}_WW)%+q<d%F5siU9^h`^9^hlZy}-wTy}*6I{lF(IzuXr%f+YB8$cDy{2(5y2)Czh~$Lg8ieY>0"
    "F13SMiU2Uti9mq5nz)+<ssxqiEh(^<hgq{L?b8!7nz~GHkA5Sy-UC{N?uIf-H8U-Z{n1CG^$_!Flh<^{f0c+arO~zk8lma~k6nUtEh+4;Xw4"
    "trl_>HcpIdpUMF=*wc_4k6ladvc=@BU`=jlUt}+v<lQ4=iM(IrO5oO8lEDwQN2AiHhfq+;eNZSgpv-`)h=29r-tW^0YaW1U(XT)Jn_>5?YUc"
    ")qk7+h4^pY-`e=wR^#tlhkhqK?+R!MpwjBugDUTy*7I+8^&+~}`BRO#l?v<!{SD^d!L6J>r#sMn0Ut01aZ?o+s6ZC-(2oL@Oc>7Rp*7B^{#%"
    "}uwf_Oy)~UbQoSUm#!`8%m!Fdm!-FkiJI-i9(bG~t&9z{X;3?TvyKx>EZgUF3MuvQR$x!{+h(l-J-8-)>Llz@H*WZMBfb~Fh4Fz!2sCR?aWv"
    "wOW=t=jLxKke`_&NAQOMWJXbGm6Sfq91eg+c6s>QWDLJoFAJ>1`m2Mo2ro_O%^4Q@nbrpVuy#jeQ=Ya%NoqG!3v`4$8wq`AHs2!$}s||_6t0"
    "vNUFqY{gfo&63g-wgFEeZ4}N1RR-JoDZeezT(Z{L_ND3~Ks=6R4bZsGOy$ex{qVX_BY792qZ3FmVe3aBkn@Se71iu8aJ3N>zTa>86jZ3&`gx"
    "4T?ryH(vq?)Uad0bd!l~qu@oMRNC$Vm#X<pe)Qj3qF$H;^NFv6ArGub4zLfssIU#kxs}5aD(>vC5uOWU&NFxdE*lDRGl|ZYdvR9RZ4p2nEjX"
    "$85M62n|t$MUCNL5#45HpP@qnNktglkA-KF;pCKCpu-cc>`;6vHBUs-6QN0BA~q*5<BQbjWF(jCi+Vx>9(=YuJ=N#Qq_~+(m=D^;6o@Cpyb#"
    "GchSVgkQ`xX9&C}%tV+Rdd=6*{<<MN0~Oaur<rh~4GJEV`siGgGq*Igs|0;QJonqAM^(;<<Y%PuWsLZLxEj&sw4Y<4!nkrT6VT4I$6ZE9(0h"
    "DjGk5=l0)P#<r7Vb$T)GBottN(z71rW<Z3u}?m<8ZYG4rpmk+kV>KkPO%%nTCh^1dDfu8X7|=vchs$S-CS-_*UGHD=#(^^P8Xu{xlFvF<|#&"
    "jCyG%*AQTqm668VVi<}zNkI04jJ~ctjD4HiaXw>eGvbS8(+z0KR3DYSpU>BKeW{fBVJwiG?#1bWuRfuwVaEcxEMv`i5D(IAh5l+q%UN<){GS"
    "rY~Y$5H*Ea>@^_lUv=<70E>l4qJ9$6eEnaX>9ivHAIY(lM8t<(HyqcGjznlZxh@52S_AqCTCE6AQr@@3DK6I5&2~jumS(7|66KzQ(7%x`T1J"
    "8(FYm!GZ+~7A#n>V8Ma~3l=O`uwdc;igPE>t3BkFOCMi;=H0iisc&uTd4WEk-+%7U51u`nK6iHa3Gww)=fzn5jmRIqCr3ZLc=-3uug>%r-~2"
    "X4Pi~1`8o08YT3$Zz)c39zFJ1dIyz=}{@8Pd}bmo(}Grixu(>vosmw(&SmHN`V@8$1~j(>Jx>#4rizWDXI_s{=w_4wrH&Y$VRNrB5pj~}~WR"
    "pP(F-`96Q76"
)
"""A workbook behind a password, its ciphertext blanked."""
